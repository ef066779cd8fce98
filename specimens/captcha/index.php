<?php
declare(strict_types=1);
/*
 * A captcha: guests who comment or write to us copy digits from a picture. The picture is made by
 * PHP and its digits lie in the session, which the picture begins if the page did not.
 */

require __DIR__ . '/../lib/site.php';
require __DIR__ . '/digits.php';

final class Captcha extends Site
{
    protected const TITLE = 'Count the lamps';

    protected function routes(): array
    {
        return ['GET /captcha' => 'picture'] + parent::routes();
    }

    protected function picture(): void
    {
        $this->start_session();
        $_SESSION['digits'] = substr(str_shuffle('0123456789'), 0, 5);
        // For tests, which can't read pictures.
        file_put_contents($this->data->folder . '/captcha-' . session_id() . '.txt', $_SESSION['digits']);
        header('Content-Type: image/bmp');
        echo picture_of_digits($_SESSION['digits']);
    }

    protected function comment(int $id): void
    {
        if ($this->member() || $this->digits_are_right()) {
            parent::comment($id);
        }
    }

    protected function send_message(): void
    {
        if ($this->digits_are_right()) {
            parent::send_message();
        }
    }

    protected function form(string $id, string $action, string $fields, string $button): string
    {
        if ($id === 'contact' || ($id === 'comment' && !$this->member())) {
            $fields .= "<img src=\"/captcha\" alt=\"five digits\">\n" . $this->text_field('digits', 'The digits above');
        }
        return parent::form($id, $action, $fields, $button);
    }

    /* Digits serve once. */
    private function digits_are_right(): bool
    {
        $wanted = $_SESSION['digits'] ?? '';
        unset($_SESSION['digits']);
        if ($wanted !== '' && hash_equals($wanted, $this->posted('digits'))) {
            return true;
        }
        $this->show_problem(422, 'These are not the digits of the picture.');
        return false;
    }
}

(new Captcha())->answer();
