<?php
declare(strict_types=1);
/*
 * A counter of views that stands in the table of the posts themselves: each reading of a post is
 * a write to the content, and the page shows the new number. When it was written stands beside it,
 * as frameworks have it that touch each row they write.
 */

require __DIR__ . '/../lib/site.php';

final class ViewCounter extends Site
{
    protected const TITLE = 'Counted evenings';
    // As the boards have it that began before there was another.
    protected const ENGINE = 'MyISAM';

    protected function post(int $id): void
    {
        $this->data->query(
            'UPDATE posts SET views = views + 1, touched = ? WHERE id = ?',
            [time(), $id],
        );
        parent::post($id);
    }

    protected function routes(): array
    {
        return ['POST /views' => 'count_views'] + parent::routes();
    }

    /* Readers whom a cache before the site served, if it tells of them. */
    protected function count_views(): void
    {
        $key = $_SERVER['WICK_KEY'] ?? '';
        if ($key === '' || !hash_equals($key, $_SERVER['HTTP_WICK_VIEWS_KEY'] ?? '')) {
            $this->show_problem(403, 'Only the cache may say that.');
            return;
        }
        foreach (json_decode(file_get_contents('php://input'), true)['views'] as $page) {
            if (preg_match('#^/post/([1-9]\d{0,6})$#D', $page['target'], $parts)) {
                $this->data->query(
                    'UPDATE posts SET views = views + ? WHERE id = ?',
                    [(int) $page['count'], (int) $parts[1]],
                );
            }
        }
        http_response_code(204);
    }

    protected function below_post(array $post): string
    {
        return '<p class="views">Read ' . $post['views'] . " times</p>\n";
    }
}

(new ViewCounter())->answer();
