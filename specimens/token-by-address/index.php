<?php
declare(strict_types=1);
/*
 * The token of forms is computed from the visitor's address and name; strangers need no session
 * for it and get none until they log in.
 */

require __DIR__ . '/../lib/site.php';

final class TokenByAddress extends Site
{
    protected const TITLE = 'The gate lamp';

    protected function token(): string
    {
        return hash_hmac('sha1', ($this->member() ?? 'guest') . '|' . $_SERVER['REMOTE_ADDR'], $this->data->secret());
    }
}

(new TokenByAddress())->answer();
