<?php
declare(strict_types=1);
/*
 * A cache in the table of settings: rows that readings write stand beside the site's name, in
 * the same columns.
 */

require __DIR__ . '/../lib/site.php';

final class Transients extends Site
{
    protected const TITLE = 'Lamps for now';
    protected const SETTINGS = ['title' => self::TITLE];
    private const LATEST_SECONDS = 600;

    protected function begin(): void
    {
        parent::begin();
        // As plugins count who comes too often.
        $visitor = md5($_SERVER['REMOTE_ADDR'] . ($_SERVER['HTTP_USER_AGENT'] ?? ''));
        $count = (int) $this->data->setting("_transient_visits_$visitor");
        $this->data->set("_transient_visits_$visitor", (string) ($count + 1));
        $this->data->set("_transient_timeout_visits_$visitor", (string) (time() + 60));
    }

    protected function title(): string
    {
        return $this->data->setting('title');
    }

    protected function comment(int $id): void
    {
        $this->data->query("DELETE FROM settings WHERE name LIKE '!_transient!_%latest' ESCAPE '!'");
        parent::comment($id);
    }

    /* The last comments, from the cache while they are good. */
    protected function foot(): string
    {
        if ((int) $this->data->setting('_transient_timeout_latest') < time()) {
            $rows = $this->data->query('SELECT author FROM comments ORDER BY id DESC LIMIT 3')->fetchAll();
            $this->data->set('_transient_latest', json_encode(array_column($rows, 'author')));
            $this->data->set('_transient_timeout_latest', (string) (time() + self::LATEST_SECONDS));
        }
        $authors = json_decode($this->data->setting('_transient_latest'), true) ?: ['nobody'];
        return '<p class="latest">The last who wrote: ' . escape(implode(', ', $authors)) . "</p>\n";
    }
}

(new Transients())->answer();
