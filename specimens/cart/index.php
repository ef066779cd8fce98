<?php
declare(strict_types=1);
/*
 * A shop: the basket lies in the session, and its count and sum stand in the header of every page.
 */

require __DIR__ . '/../lib/site.php';

final class Cart extends Site
{
    protected const TITLE = 'Lamp & Sons';
    private const PIECES_MAX = 99;
    private array $goods;

    public function __construct()
    {
        parent::__construct();
        $this->goods = require __DIR__ . '/goods.php';
    }

    protected function routes(): array
    {
        return [
            'GET /goods/([1-9]\d{0,6})' => 'piece',
            'GET /basket' => 'basket',
            'POST /basket/add' => 'add',
            'POST /basket/empty' => 'clear',
        ] + parent::routes();
    }

    protected function begin(): void
    {
        $this->start_session();
        $_SESSION['token'] ??= random_token();
    }

    protected function front(): void
    {
        $items = '';
        foreach ($this->goods as $id => [$name, $pence]) {
            $items .= '<li><a href="' . escape($this->link("/goods/$id")) . '">' . escape($name) . '</a> '
                . self::price($pence) . "</li>\n";
        }
        $this->show(static::TITLE, "<h1>All our goods</h1>\n<ul class=\"goods\">\n$items</ul>\n");
    }

    protected function piece(int $id): void
    {
        if (!isset($this->goods[$id])) {
            $this->show_not_found();
            return;
        }
        [$name, $pence, $words] = $this->goods[$id];
        $this->show($name, '<h1>' . escape($name) . '</h1><p>' . escape($words) . '</p><p class="price">'
            . self::price($pence) . "</p>\n" . $this->form(
                'add',
                '/basket/add',
                hidden_field('goods', (string) $id) . $this->text_field('pieces', 'How many', 'number', '1'),
                'Into the basket'
            ));
    }

    protected function add(): void
    {
        $id = (int) $this->posted('goods');
        $pieces = max(1, min((int) $this->posted('pieces'), self::PIECES_MAX));
        if (!isset($this->goods[$id])) {
            $this->show_not_found();
            return;
        }
        $_SESSION['basket'][$id] = min(($_SESSION['basket'][$id] ?? 0) + $pieces, self::PIECES_MAX);
        $this->say($this->goods[$id][0] . ' lies in your basket.');
        $this->redirect("/goods/$id");
    }

    protected function clear(): void
    {
        unset($_SESSION['basket']);
        $this->redirect('/basket');
    }

    protected function basket(): void
    {
        $items = '';
        foreach ($_SESSION['basket'] ?? [] as $id => $pieces) {
            $items .= "<li>$pieces × " . escape($this->goods[$id][0]) . "</li>\n";
        }
        $this->show('Basket', "<h1>Your basket</h1>\n" . ($items === '' ? "<p>It is empty.</p>\n"
            : "<ul id=\"basket\">\n$items</ul>\n" . $this->form('clear', '/basket/empty', '', 'Empty it')));
    }

    protected function header_links(): string
    {
        $pieces = 0;
        $pence = 0;
        foreach ($_SESSION['basket'] ?? [] as $id => $count) {
            $pieces += $count;
            $pence += $count * $this->goods[$id][1];
        }
        return '<a id="mini-basket" href="' . escape($this->link('/basket')) . "\">Basket: $pieces, "
            . self::price($pence) . "</a>\n";
    }

    private static function price(int $pence): string
    {
        return '£' . number_format($pence / 100, 2);
    }
}

(new Cart())->answer();
