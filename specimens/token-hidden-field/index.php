<?php
declare(strict_types=1);
/*
 * A CSRF token in a hidden field of every form that posts, the log-in included. It lies in the
 * session, which every visitor has.
 */

require __DIR__ . '/../lib/site.php';

final class TokenHiddenField extends Site
{
    protected const TITLE = 'The oil ledger';

    protected function begin(): void
    {
        $this->start_session();
        $_SESSION['token'] ??= random_token();
    }
}

(new TokenHiddenField())->answer();
