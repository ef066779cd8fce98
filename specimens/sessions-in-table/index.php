<?php
declare(strict_types=1);
/*
 * Sessions of everybody in a table of the database: a visitor's first page inserts a row, each
 * further page renews it, and now and then a reading deletes the old ones.
 */

require __DIR__ . '/../lib/site.php';
require __DIR__ . '/session_rows.php';

final class SessionsInTable extends Site
{
    protected const TITLE = 'Lamps on the books';
    protected const TABLES = [
        'sessions' => 'id VARCHAR(64) NOT NULL PRIMARY KEY, data TEXT NOT NULL, seen INTEGER NOT NULL',
    ];

    protected function begin(): void
    {
        session_set_save_handler(new SessionRows($this->data), true);
        $this->start_session();
        $_SESSION['pages'] = ($_SESSION['pages'] ?? 0) + 1;
    }
}

(new SessionsInTable())->answer();
