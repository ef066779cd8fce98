<?php
declare(strict_types=1);
/*
 * Fields whose names are random: each session calls name, password and comment something else,
 * and so is the name of the token.
 */

require __DIR__ . '/../lib/site.php';

final class FieldNames extends Site
{
    protected const TITLE = 'Lamps under other names';

    protected function begin(): void
    {
        $this->start_session();
        $_SESSION['token'] ??= random_token();
    }

    protected function field(string $name): string
    {
        return $_SESSION['fields'][$name] ??= 'f' . bin2hex(random_bytes(8));
    }

    protected function hidden_fields(): string
    {
        return hidden_field($this->field('token'), $this->token());
    }
}

(new FieldNames())->answer();
