<?php
declare(strict_types=1);
/*
 * A CSRF token in a hidden field of every form that posts, on pages that let no browser say where
 * a request comes from.
 */

require __DIR__ . '/../lib/site.php';

final class NoReferrer extends Site
{
    protected const TITLE = 'The quiet ledger';

    protected function begin(): void
    {
        header('Referrer-Policy: no-referrer');
        $this->start_session();
        $_SESSION['token'] ??= random_token();
    }
}

(new NoReferrer())->answer();
