<?php
declare(strict_types=1);
/*
 * The CSRF token outside forms: in links that do something, in a meta tag that the page's script
 * reads for X-CSRF-Token, and in a JSON blob.
 */

require __DIR__ . '/../lib/site.php';

final class TokenInLinks extends Site
{
    protected const TITLE = 'Lanterns & links';

    protected function routes(): array
    {
        return parent::routes() + [
            'GET /mark-read' => 'mark_read',
            'GET /logout' => 'logout_by_link',
            'GET /comment/([1-9]\d{0,6})/delete' => 'delete_comment',
        ];
    }

    protected function begin(): void
    {
        $this->start_session();
        $_SESSION['token'] ??= random_token();
    }

    /* Scripts send the token in a header; a form without script could not. */
    protected function token_is_right(): bool
    {
        $sent = $_SERVER['HTTP_X_CSRF_TOKEN'] ?? $this->posted('token');
        return hash_equals($this->token(), $sent);
    }

    protected function hidden_fields(): string
    {
        return '';
    }

    protected function form_attributes(): string
    {
        return ' data-fetch';
    }

    protected function head(): string
    {
        return '<meta name="csrf-token" content="' . escape($this->token()) . "\">\n";
    }

    protected function header_links(): string
    {
        return '<a id="mark-read" href="' . escape($this->action_link('/mark-read')) . "\">Mark all as read</a>\n";
    }

    protected function logout_html(): string
    {
        return '<a id="logout" href="' . escape($this->action_link('/logout')) . "\">Log out</a>\n";
    }

    protected function foot(): string
    {
        $state = json_encode(['session' => ['token' => $this->token()], 'path' => $this->path()], JSON_HEX_TAG | JSON_UNESCAPED_SLASHES);
        return "<script type=\"application/json\" id=\"state\">$state</script>\n"
            . fetch_script('X-CSRF-Token', "document.querySelector('meta[name=csrf-token]').content");
    }

    protected function comments_html(int $post): string
    {
        $own = '';
        foreach ($_SESSION['own'] ?? [] as $comment) {
            $own .= '<a class="delete" href="' . escape($this->action_link("/comment/$comment/delete"))
                . "\">Delete my comment $comment</a>\n";
        }
        return parent::comments_html($post) . $own;
    }

    protected function delete_comment(int $comment): void
    {
        if (!$this->link_is_right() || !in_array($comment, $_SESSION['own'] ?? [], true)) {
            $this->show_problem(403, 'This link is too old. Please load the page again and retry.');
            return;
        }
        $this->data->query('DELETE FROM comments WHERE id = ?', [$comment]);
        $_SESSION['own'] = array_values(array_diff($_SESSION['own'], [$comment]));
        $this->say('Your comment is gone.');
        $this->redirect('/');
    }

    protected function mark_read(): void
    {
        if (!$this->link_is_right()) {
            $this->show_problem(403, 'This link is too old. Please load the page again and retry.');
            return;
        }
        $this->say('Everything is marked as read.');
        $this->redirect('/');
    }

    protected function logout_by_link(): void
    {
        if (!$this->link_is_right()) {
            $this->show_problem(403, 'This link is too old. Please load the page again and retry.');
            return;
        }
        $this->logout();
    }

    private function action_link(string $path): string
    {
        return "$path?token=" . $this->token();
    }

    private function link_is_right(): bool
    {
        return hash_equals($this->token(), asked('token'));
    }
}

(new TokenInLinks())->answer();
