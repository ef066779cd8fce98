<?php
declare(strict_types=1);
/*
 * Rows that sort equally: the front page lists the most discussed posts first, and most are not
 * discussed at all. In which order the database gives those is its own affair; here it changes
 * from hit to hit.
 */

require __DIR__ . '/../lib/site.php';

final class RowOrder extends Site
{
    protected const TITLE = 'In no order';

    protected function begin(): void
    {
        $this->start_session();
    }

    /* random() stands for what a database does with ties when it pleases. */
    protected function front_posts(): array
    {
        return $this->data->query(
            'SELECT posts.*, COUNT(comments.id) AS discussed FROM posts
             LEFT JOIN comments ON comments.post = posts.id
             GROUP BY posts.id ORDER BY discussed DESC, random()'
        )->fetchAll();
    }
}

(new RowOrder())->answer();
