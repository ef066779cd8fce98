<?php
declare(strict_types=1);
/*
 * One address, several pages: the language follows Accept-Language, phones get another layout and
 * robots a plain one without forms. No Vary says so.
 */

require __DIR__ . '/../lib/site.php';

final class Variance extends Site
{
    protected const TITLE = 'Lamps of all nations';

    private const WORDS = [
        'en' => ['All notes', 'Good evening', 'Comments'],
        'de' => ['Alle Notizen', 'Guten Abend', 'Kommentare'],
        'fr' => ['Toutes les notes', 'Bonsoir', 'Commentaires'],
    ];

    protected function show(string $title, string $main): void
    {
        $language = $this->language();
        $main = str_replace(['<h1>All notes</h1>', '<h2>Comments</h2>'], [
            '<h1>' . self::WORDS[$language][0] . '</h1>',
            '<h2>' . self::WORDS[$language][2] . '</h2>',
        ], $main);
        parent::show($title, "<p id=\"evening\" lang=\"$language\">" . self::WORDS[$language][1] . "</p>\n$main");
    }

    protected function head(): string
    {
        return $this->is_phone() ? "<meta name=\"theme-color\" content=\"#fbf7ef\">\n" : '';
    }

    protected function header_html(): string
    {
        if ($this->is_robot()) {
            return '<h1><a href="/">' . escape(static::TITLE) . "</a></h1>\n";
        }
        if ($this->is_phone()) {
            return "<details class=\"phone\"><summary>Menu</summary>\n" . parent::header_html() . "</details>\n";
        }
        return "<div class=\"desk\">\n" . parent::header_html() . "</div>\n";
    }

    protected function comment_form(int $post): string
    {
        return $this->is_robot() ? '' : parent::comment_form($post);
    }

    /* The first language of the visitor's list that the site speaks, else English. */
    private function language(): string
    {
        preg_match_all('/\b([a-z]{2})(?:-[A-Za-z]+)?\s*(?:;[^,]*)?(?:,|$)/', $_SERVER['HTTP_ACCEPT_LANGUAGE'] ?? '', $asked);
        return array_values(array_intersect($asked[1], array_keys(self::WORDS)))[0] ?? 'en';
    }

    private function is_phone(): bool
    {
        return preg_match('/Mobile|Android|iPhone/', $_SERVER['HTTP_USER_AGENT'] ?? '') === 1;
    }

    private function is_robot(): bool
    {
        return preg_match('/bot\b|crawler|spider/i', $_SERVER['HTTP_USER_AGENT'] ?? '') === 1;
    }
}

(new Variance())->answer();
