<?php
declare(strict_types=1);
/*
 * Pages that fetch their content: a post's page is a shell whose script asks for JSON and a
 * fragment of HTML. The JSON brings a token, which a later POST must send back.
 */

require __DIR__ . '/../lib/site.php';

final class JsonApi extends Site
{
    protected const TITLE = 'Bit by bit';

    protected function routes(): array
    {
        return [
            'GET /api/post/([1-9]\d{0,6})' => 'post_json',
            'GET /fragment/comments/([1-9]\d{0,6})' => 'comments_fragment',
            'POST /api/comment/([1-9]\d{0,6})' => 'comment',
        ] + parent::routes();
    }

    /* The interface wants its token in a header; the other forms are as elsewhere. */
    protected function token_is_right(): bool
    {
        if (!str_starts_with($this->path(), '/api/')) {
            return parent::token_is_right();
        }
        return $this->token() !== '' && hash_equals($this->token(), $_SERVER['HTTP_X_API_TOKEN'] ?? '');
    }

    /* The first background request begins the session; the page itself needs none. */
    protected function post_json(int $id): void
    {
        $post = $this->data->post($id);
        if (!$post || !is_background()) {
            $this->show_problem($post ? 400 : 404, 'This address is for scripts.');
            return;
        }
        $this->start_session();
        $_SESSION['token'] ??= random_token();
        $this->show_json([
            'title' => $post['title'],
            'html' => paragraphs($post['body']),
            'reader' => $this->member(),
            'token' => $this->token(),
        ]);
    }

    protected function comments_fragment(int $id): void
    {
        if (!is_background()) {
            $this->show_problem(400, 'This address is for scripts.');
            return;
        }
        header('Content-Type: text/html; charset=utf-8');
        echo $this->comments_html($id);
    }

    protected function post(int $id): void
    {
        $post = $this->data->post($id);
        if (!$post) {
            $this->show_not_found();
            return;
        }
        $this->show($post['title'], "<article id=\"article\">One moment …</article>\n<section id=\"talk\"></section>\n"
            . $this->comment_form($id) . self::loading_script($id)
            . fetch_script('X-Api-Token', "document.getElementById('article').dataset.token"));
    }

    protected function comment_form(int $post): string
    {
        return str_replace(
            'action="' . escape($this->link($this->post_path($post))) . '"',
            'action="' . escape($this->link("/api/comment/$post")) . '" data-fetch',
            parent::comment_form($post)
        );
    }

    private static function loading_script(int $id): string
    {
        return <<<HTML
        <script>
        const ask = (address) => fetch(address, {headers: {'X-Requested-With': 'XMLHttpRequest'}});
        ask('/api/post/$id').then((answer) => answer.json()).then((post) => {
            const article = document.getElementById('article');
            article.innerHTML = post.html;
            article.dataset.token = post.token;
            const heading = document.createElement('h1');
            heading.textContent = post.title;
            article.prepend(heading);
        });
        ask('/fragment/comments/$id').then((answer) => answer.text()).then((html) => {
            document.getElementById('talk').innerHTML = html;
        });
        </script>

        HTML;
    }
}

(new JsonApi())->answer();
