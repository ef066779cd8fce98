<?php
declare(strict_types=1);
/*
 * What the request says comes back in the page: the Host in all links, the utm_ parameters copied
 * from link to link, and the words that a search engine's Referer names, marked in the text.
 */

require __DIR__ . '/../lib/site.php';

final class Reflections extends Site
{
    protected const TITLE = 'Mirror behind the lamp';

    protected function link(string $path): string
    {
        [$address, $fragment] = explode('#', "$path#");
        $campaign = array_filter(
            $_GET,
            fn ($value, $name) => is_string($value) && str_starts_with((string) $name, 'utm_'),
            ARRAY_FILTER_USE_BOTH
        );
        if ($campaign) {
            $address .= (str_contains($address, '?') ? '&' : '?') . http_build_query($campaign);
        }
        return $this->origin() . $address . ($fragment === '' ? '' : "#$fragment");
    }

    protected function head(): string
    {
        return '<link rel="canonical" href="' . escape($this->origin() . $this->path()) . "\">\n";
    }

    protected function body_html(array $post): string
    {
        $html = parent::body_html($post);
        parse_str((string) parse_url($_SERVER['HTTP_REFERER'] ?? '', PHP_URL_QUERY), $asked);
        $word = is_string($asked['q'] ?? null) ? escape(first_characters($asked['q'], 30)) : '';
        return $word === '' ? $html : preg_replace('/\b' . preg_quote($word, '/') . '\b(?![^<]*>)/i', '<mark>$0</mark>', $html);
    }

    private function origin(): string
    {
        $scheme = empty($_SERVER['HTTPS']) && ($_SERVER['HTTP_X_FORWARDED_PROTO'] ?? '') !== 'https' ? 'http' : 'https';
        return "$scheme://" . ($_SERVER['HTTP_HOST'] ?? 'localhost');
    }
}

(new Reflections())->answer();
