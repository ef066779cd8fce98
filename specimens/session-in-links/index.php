<?php
declare(strict_types=1);
/*
 * The session's number in every link and form, as long as the visitor has sent no cookie: so the
 * site works for visitors who refuse cookies. Once a cookie comes, links are plain.
 */

require __DIR__ . '/../lib/site.php';

final class SessionInLinks extends Site
{
    protected const TITLE = 'The lamplighters’ board';

    protected function begin(): void
    {
        $given = $_GET[self::SESSION_COOKIE] ?? $_POST[self::SESSION_COOKIE] ?? null;
        if (!isset($_COOKIE[self::SESSION_COOKIE]) && is_string($given) && preg_match('/^[a-z0-9,-]{22,64}$/i', $given)) {
            session_id($given);
        }
        // PHP gives a number of its own instead of one that no session has.
        $this->start_session();
    }

    /* Posts are topics of one script here, as on most boards. */
    protected function post_path(int $id): string
    {
        return "/index.php?topic=$id";
    }

    protected function path(): string
    {
        $topic = asked('topic');
        return ctype_digit($topic) ? "/post/$topic" : str_replace('/index.php', '/', parent::path());
    }

    protected function link(string $path): string
    {
        if (isset($_COOKIE[self::SESSION_COOKIE])) {
            return $path;
        }
        [$address, $fragment] = explode('#', "$path#");
        $joint = str_contains($address, '?') ? '&' : '?';
        return $address . $joint . self::SESSION_COOKIE . '=' . session_id() . ($fragment === '' ? '' : "#$fragment");
    }

    protected function search_fields(): string
    {
        return $this->hidden_number();
    }

    protected function hidden_fields(): string
    {
        return parent::hidden_fields() . $this->hidden_number();
    }

    private function hidden_number(): string
    {
        return isset($_COOKIE[self::SESSION_COOKIE]) ? '' : hidden_field(self::SESSION_COOKIE, session_id());
    }
}

(new SessionInLinks())->answer();
