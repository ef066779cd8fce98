<?php
declare(strict_types=1);
/*
 * What members have read: their reading a post marks it, and any page the time of their visit.
 * Strangers' reading writes nothing. A member's vote is a link to the post's own address.
 */

require __DIR__ . '/../lib/site.php';

final class ReadMarks extends Site
{
    protected const TITLE = 'Lamps once read';
    protected const TABLES = [
        'marks' => 'member INTEGER NOT NULL, post INTEGER NOT NULL, seen INTEGER NOT NULL, PRIMARY KEY (member, post)',
        'visits' => 'member INTEGER NOT NULL PRIMARY KEY, page VARCHAR(255) NOT NULL, seen INTEGER NOT NULL',
    ];
    // The number of ann, who is the only one.
    private const MEMBER = 1;

    protected function begin(): void
    {
        parent::begin();
        if ($this->member()) {
            $this->data->query(
                'REPLACE INTO visits (member, page, seen) VALUES (?, ?, ?)',
                [self::MEMBER, $this->path(), time()]
            );
        }
    }

    protected function post(int $id): void
    {
        if ($this->member()) {
            $this->data->query('REPLACE INTO marks (member, post, seen) VALUES (?, ?, ?)', [self::MEMBER, $id, time()]);
            if (asked('up') !== '') {
                $this->data->query('UPDATE posts SET votes = votes + 1 WHERE id = ?', [$id]);
            }
        }
        parent::post($id);
    }

    protected function below_post(array $post): string
    {
        return '<p class="votes">' . $post['votes'] . " votes</p>\n";
    }
}

(new ReadMarks())->answer();
