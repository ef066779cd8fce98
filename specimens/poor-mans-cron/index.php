<?php
declare(strict_types=1);
/*
 * No clock of its own: what is due is done by whoever reads next. A draft whose time has come
 * becomes a post in the middle of a stranger's GET.
 */

require __DIR__ . '/../lib/site.php';

final class PoorMansCron extends Site
{
    protected const TITLE = 'Lamps in time';
    protected const TABLES = [
        'drafts' => 'id NUMBERED, title TEXT NOT NULL, body TEXT NOT NULL, due INTEGER NOT NULL',
    ];
    protected const SETTINGS = ['cron_ran' => '0'];

    protected function begin(): void
    {
        parent::begin();
        $now = time();
        $this->data->set('cron_ran', (string) $now);
        foreach ($this->data->query('SELECT * FROM drafts WHERE due <= ? ORDER BY id', [$now])->fetchAll() as $draft) {
            // Of several readers at once one publishes it.
            if ($this->data->query('DELETE FROM drafts WHERE id = ?', [$draft['id']])->rowCount() === 1) {
                $this->data->query('INSERT INTO posts (title, body) VALUES (?, ?)', [$draft['title'], $draft['body']]);
            }
        }
    }
}

(new PoorMansCron())->answer();
