<?php
declare(strict_types=1);
/*
 * A token with an age: each form says when it was made, signed with the session's secret. A form
 * that comes back within two seconds was not filled in by a person; one of yesterday is too old.
 */

require __DIR__ . '/../lib/site.php';

final class TokenAge extends Site
{
    protected const TITLE = 'Slow burning';
    private const SECONDS_MIN = 2;
    private const SECONDS_MAX = 7200;

    protected function begin(): void
    {
        $this->start_session();
        $_SESSION['form_salt'] ??= random_token();
    }

    protected function hidden_fields(): string
    {
        $made = time();
        return hidden_field('creation_time', (string) $made) . hidden_field('form_token', $this->signature($made));
    }

    protected function token_is_right(): bool
    {
        $made = (int) $this->posted('creation_time');
        $age = time() - $made;
        return hash_equals($this->signature($made), $this->posted('form_token'))
            && $age >= self::SECONDS_MIN && $age <= self::SECONDS_MAX;
    }

    private function signature(int $made): string
    {
        return hash_hmac('sha1', (string) $made, $_SESSION['form_salt']);
    }
}

(new TokenAge())->answer();
