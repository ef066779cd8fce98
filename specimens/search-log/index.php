<?php
declare(strict_types=1);
/*
 * A log in the database: a row for each page that is read, and one for each word that is
 * searched for.
 */

require __DIR__ . '/../lib/site.php';

final class SearchLog extends Site
{
    protected const TITLE = 'Lamps on record';
    protected const TABLES = [
        'visits' => 'id NUMBERED, page VARCHAR(255) NOT NULL, at INTEGER NOT NULL',
        'searches' => 'id NUMBERED, word VARCHAR(64) NOT NULL, at INTEGER NOT NULL',
    ];

    protected function begin(): void
    {
        parent::begin();
        $this->data->query('INSERT INTO visits (page, at) VALUES (?, ?)', [$this->path(), time()]);
    }

    protected function search(): void
    {
        $word = first_characters(asked('q'), 60);
        $this->data->query('INSERT INTO searches (word, at) VALUES (?, ?)', [$word, time()]);
        parent::search();
    }
}

(new SearchLog())->answer();
