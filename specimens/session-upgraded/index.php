<?php
declare(strict_types=1);
/*
 * Logging in keeps the session as it is: the same cookie with the same value is a stranger's
 * before and a member's after.
 */

require __DIR__ . '/../lib/site.php';

final class SessionUpgraded extends Site
{
    protected const TITLE = 'The shop of lamps';
    protected const SESSION_COOKIE = 'OCSESSID';

    protected function begin(): void
    {
        $this->start_session();
        $_SESSION['token'] ??= random_token();
    }

    /* No new number and no new token at the log-in. Don't copy this: it is what is modelled. */
    protected function renew_session(): void
    {
    }
}

(new SessionUpgraded())->answer();
