<?php
declare(strict_types=1);
/*
 * A session belongs to one browser: when the user agent is another than at its begin, the session
 * is thrown away and an empty one takes its place.
 */

require __DIR__ . '/../lib/site.php';

final class TokenByAgent extends Site
{
    protected const TITLE = 'One keeper, one lamp';
    protected const SESSION_COOKIE = 'keeper';

    protected function begin(): void
    {
        $this->start_session();
        $agent = hash('sha256', $_SERVER['HTTP_USER_AGENT'] ?? '');
        if (($_SESSION['agent'] ?? $agent) !== $agent) {
            session_regenerate_id(true);
            $_SESSION = [];
        }
        $_SESSION['agent'] = $agent;
        $_SESSION['token'] ??= random_token();
    }
}

(new TokenByAgent())->answer();
