<?php
declare(strict_types=1);
/*
 * A reference for whoever writes to us, already filled in on the contact page: it stands in a
 * field that can be read and copied, is the same as long as the session lasts, and belongs to
 * this visitor alone.
 */

require __DIR__ . '/../lib/site.php';

final class FilledField extends Site
{
    protected const TITLE = 'The candle office';

    protected function begin(): void
    {
        $this->start_session();
        $_SESSION['reference'] ??= bin2hex(random_bytes(12));
    }

    protected function contact(): void
    {
        $reference = '<p><label>Your reference <input id="reference" name="reference" readonly value="'
            . escape($_SESSION['reference']) . "\"></label></p>\n";
        $fields = $this->text_field('sender', 'Your name') . $this->text_field('message', 'Your message');
        $this->show('Contact', '<h1>Contact</h1>' . $this->form('contact', '/contact', $reference . $fields, 'Send'));
    }

    protected function send_message(): void
    {
        $sender = first_characters($this->posted('sender'), 40);
        if ($sender === '' || $this->posted('reference') !== $_SESSION['reference']) {
            $this->show_problem(422, 'A message needs a name and your own reference.');
            return;
        }
        $this->show('Thank you', '<h1>Thank you, ' . escape($sender) . "</h1>\n");
    }
}

(new FilledField())->answer();
