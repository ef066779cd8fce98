<?php
declare(strict_types=1);
/*
 * Two cookies on every page, and no session: the visitor's address in base64, and how many pages
 * this visitor has seen.
 */

require __DIR__ . '/../lib/site.php';

final class AddressCookie extends Site
{
    protected const TITLE = 'Who goes there';

    protected function begin(): void
    {
        parent::begin();
        $seen = $_COOKIE['visits'] ?? '0';
        $visits = is_string($seen) ? min((int) $seen + 1, 9999) : 1;
        setcookie('visitor_ip', base64_encode($_SERVER['REMOTE_ADDR']), ['path' => '/', 'expires' => time() + 86400]);
        setcookie('visits', (string) $visits, ['path' => '/', 'expires' => time() + 86400]);
    }
}

(new AddressCookie())->answer();
