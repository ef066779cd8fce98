<?php
declare(strict_types=1);
/*
 * Double submit: a cookie XSRF-TOKEN that scripts may read; the page's script sends every form in
 * the background with the cookie's value in X-XSRF-TOKEN. The server only compares the two.
 */

require __DIR__ . '/../lib/site.php';

final class ScriptCookie extends Site
{
    protected const TITLE = 'Twice told';
    private const TOKEN_COOKIE = 'XSRF-TOKEN';
    private string $token;

    protected function begin(): void
    {
        parent::begin();
        $known = $_COOKIE[self::TOKEN_COOKIE] ?? '';
        $this->token = is_string($known) && preg_match('/^[0-9a-f]{40}$/D', $known) ? $known : '';
        if ($this->token === '') {
            setcookie(self::TOKEN_COOKIE, bin2hex(random_bytes(20)), ['path' => '/', 'samesite' => 'Lax']);
        }
    }

    protected function token_is_right(): bool
    {
        return $this->token !== '' && hash_equals($this->token, $_SERVER['HTTP_X_XSRF_TOKEN'] ?? '');
    }

    protected function hidden_fields(): string
    {
        return '';
    }

    protected function form_attributes(): string
    {
        return ' data-fetch';
    }

    /* Only pages with such a form have the script. */
    protected function show(string $title, string $main): void
    {
        if ($this->member() || str_contains($main, ' data-fetch')) {
            $main .= fetch_script('X-XSRF-TOKEN', "(document.cookie.match(/XSRF-TOKEN=([0-9a-f]+)/) || [])[1] || ''");
        }
        parent::show($title, $main);
    }
}

(new ScriptCookie())->answer();
