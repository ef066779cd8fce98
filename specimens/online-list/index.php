<?php
declare(strict_types=1);
/*
 * Who is online: each reading writes who reads what, and the front page counts them. The most
 * that ever were here at once stand among the settings, and move rarely.
 */

require __DIR__ . '/../lib/site.php';

final class OnlineList extends Site
{
    protected const TITLE = 'Lamps in company';
    protected const ENGINE = 'MyISAM';
    protected const TABLES = [
        'online' => 'visitor VARCHAR(64) NOT NULL PRIMARY KEY, page VARCHAR(255) NOT NULL, seen INTEGER NOT NULL',
    ];
    protected const SETTINGS = ['most_online' => '1'];
    // Who was here so lately is here.
    private const HERE_SECONDS = 900;

    protected function begin(): void
    {
        parent::begin();
        $now = time();
        $this->data->query(
            'REPLACE INTO online (visitor, page, seen) VALUES (?, ?, ?)',
            [md5($_SERVER['REMOTE_ADDR'] . ($_SERVER['HTTP_USER_AGENT'] ?? '')), $this->path(), $now]
        );
        $this->data->query('DELETE FROM online WHERE seen < ?', [$now - self::HERE_SECONDS]);
        if ($this->online() > (int) $this->data->setting('most_online')) {
            $this->data->set('most_online', (string) $this->online());
        }
    }

    protected function foot(): string
    {
        return '<p class="online">Here now: ' . $this->online() . ' guests. The most there ever were: '
            . escape($this->data->setting('most_online')) . ".</p>\n";
    }

    private function online(): int
    {
        return (int) $this->data->query('SELECT COUNT(*) FROM online')->fetchColumn();
    }
}

(new OnlineList())->answer();
