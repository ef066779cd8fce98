<?php
declare(strict_types=1);
/*
 * A reference for whoever writes to us, given when the contact page is read: it stands there as
 * text, is the same as long as the session lasts, and belongs to this visitor alone.
 */

require __DIR__ . '/../lib/site.php';

final class GuestReference extends Site
{
    protected const TITLE = 'The lamp repairer';

    protected function begin(): void
    {
        $this->start_session();
        $_SESSION['reference'] ??= bin2hex(random_bytes(12));
    }

    protected function contact(): void
    {
        $this->show('Contact', '<h1>Contact</h1><p>Your reference: ' . $this->reference() . "</p>\n" . $this->form(
            'contact',
            '/contact',
            $this->text_field('sender', 'Your name') . $this->text_field('message', 'Your message'),
            'Send'
        ));
    }

    protected function send_message(): void
    {
        $sender = first_characters($this->posted('sender'), 40);
        if ($sender === '') {
            $this->show_problem(422, 'A message needs a name.');
            return;
        }
        $this->show('Thank you', '<h1>Thank you, ' . escape($sender) . '</h1><p>We answer under ' . $this->reference() . ".</p>\n");
    }

    private function reference(): string
    {
        return '<code id="reference">' . escape($_SESSION['reference']) . '</code>';
    }
}

(new GuestReference())->answer();
