<?php
declare(strict_types=1);
/*
 * Posts behind a password: whoever gives it once reads them, since the session remembers.
 */

require __DIR__ . '/../lib/site.php';

final class PasswordPage extends Site
{
    protected const TITLE = 'The locked drawer';
    private const LOCKED = [5, 6];
    private const PASSWORD = 'lantern';

    protected function routes(): array
    {
        return ['POST /post/([1-9]\d{0,6})/open' => 'open'] + parent::routes();
    }

    protected function begin(): void
    {
        $this->start_session();
    }

    protected function post(int $id): void
    {
        if (in_array($id, self::LOCKED, true) && !isset($_SESSION['opened'])) {
            $this->show('Locked', "<h1>This note is locked</h1>\n" . $this->form(
                'open',
                "/post/$id/open",
                $this->text_field('drawer', 'Its password', 'password'),
                'Open it'
            ));
            return;
        }
        parent::post($id);
    }

    protected function open(int $id): void
    {
        if (!hash_equals(self::PASSWORD, $this->posted('drawer'))) {
            $this->show_problem(403, 'That is not the password of this note.');
            return;
        }
        $_SESSION['opened'] = true;
        $this->redirect($this->post_path($id));
    }

    /* The front page shows how posts begin, but not the locked ones. */
    protected function front_posts(): array
    {
        $posts = parent::front_posts();
        foreach ($posts as &$post) {
            if (in_array((int) $post['id'], self::LOCKED, true)) {
                $post['body'] = 'Locked';
            }
        }
        return $posts;
    }
}

(new PasswordPage())->answer();
