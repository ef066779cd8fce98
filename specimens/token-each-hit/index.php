<?php
declare(strict_types=1);
/*
 * A new token at every hit. The session keeps the last ten, so that a few open pages go on
 * working, and forgets older ones.
 */

require __DIR__ . '/../lib/site.php';

final class TokenEachHit extends Site
{
    protected const TITLE = 'New flame each night';
    private const KEPT = 10;
    private string $token = '';

    protected function begin(): void
    {
        $this->start_session();
    }

    /* The token of this hit, made when the first form of the page asks for it. */
    protected function token(): string
    {
        if ($this->token === '') {
            $this->token = bin2hex(random_bytes(20));
            $_SESSION['keys'] = array_slice([...$_SESSION['keys'] ?? [], $this->token], -self::KEPT);
        }
        return $this->token;
    }

    protected function hidden_fields(): string
    {
        return hidden_field('key', $this->token());
    }

    protected function token_is_right(): bool
    {
        return in_array($this->posted('key'), $_SESSION['keys'] ?? [], true);
    }

    /* Forms are on every page, so that each hit costs a token. */
    protected function foot(): string
    {
        return $this->form('letter', '/contact', $this->text_field('sender', 'Name') . $this->text_field('message', 'Ask us'), 'Ask');
    }

    /* The form of the foot serves as the page's own. */
    protected function contact(): void
    {
        $this->show('Contact', "<h1>Contact</h1>\n<p>Ask us with the form below.</p>\n");
    }
}

(new TokenEachHit())->answer();
