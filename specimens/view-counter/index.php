<?php
declare(strict_types=1);
/*
 * A counter of views that stands in the table of the posts themselves: each reading of a post is
 * a write to the content, and the page shows the new number.
 */

require __DIR__ . '/../lib/site.php';

final class ViewCounter extends Site
{
    protected const TITLE = 'Counted evenings';
    // As the boards have it that began before there was another.
    protected const ENGINE = 'MyISAM';

    protected function post(int $id): void
    {
        $this->data->query('UPDATE posts SET views = views + 1 WHERE id = ?', [$id]);
        parent::post($id);
    }

    protected function below_post(array $post): string
    {
        return '<p class="views">Read ' . $post['views'] . " times</p>\n";
    }
}

(new ViewCounter())->answer();
