<?php
declare(strict_types=1);
/*
 * Flash messages: what a POST has to say lies in the session and is shown once, on whichever page
 * the visitor sees next.
 */

require __DIR__ . '/../lib/site.php';

final class Flash extends Site
{
    protected const TITLE = 'Said once';

    protected function routes(): array
    {
        return ['POST /subscribe' => 'subscribe'] + parent::routes();
    }

    protected function begin(): void
    {
        $this->start_session();
    }

    protected function subscribe(): void
    {
        $address = first_characters($this->posted('address'), 80);
        $this->say(str_contains($address, '@')
            ? "From now on we write to $address."
            : 'We can’t write to an address without @.');
        $this->redirect('/');
    }

    /* The newsletter's form is on every page; its answer appears on the front page. */
    protected function foot(): string
    {
        return $this->form('newsletter', '/subscribe', $this->text_field('address', 'Your address', 'email'), 'Subscribe');
    }
}

(new Flash())->answer();
