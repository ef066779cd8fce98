<?php
declare(strict_types=1);
/*
 * A session for everybody: each page sets a cookie, and PHP's session module says no-store.
 */

require __DIR__ . '/../lib/site.php';

final class SessionEverywhere extends Site
{
    protected const TITLE = 'The evening lamp';

    protected function begin(): void
    {
        $this->start_session();
    }
}

(new SessionEverywhere())->answer();
