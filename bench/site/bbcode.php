<?php

declare(strict_types=1);

// BBCode by chains of regular expressions, as forums make it: the measure for
// bench/markup, and the forum's own renderer in bench/forum. The tags, the smilies, the links
// and the HTML are those of crates/markup/dialects/torrentpier.toml; most posts come out the
// same, and bench/markup counts them.
//
//     php bbcode.php POSTS ROUNDS [smilies-at-once]
//
// POSTS is a file of posts that end in a NUL. Prints how many bytes were rendered, and how
// many came of them; with `html` for ROUNDS, the HTML of each, with a NUL behind it.
//
// It is done in the manner of the field: an array of expressions for the plain tags, one
// expression a smiley, callbacks for what has to be judged (phpBB, TorrentPier); what nests is
// replaced as long as there is something to replace (MyBB), so that what nobody closed
// stays text and what comes out is balanced. Nothing is done twice, and a post without
// brackets isn't searched for tags. With `smilies-at-once` one expression finds all smilies,
// which is quicker, but not what forums do.

final class Bbcode
{
    private const BLOCKS = 'align|box|clear|code|hide|hr|indent|list|nfo|pre|quote|spoiler|t[dhr]|table|youtube';
    private const ADDRESS = '[\w\#!$%&~/.\-;:=,?@()+*]';
    private const PLAIN = [
        '#\[b\](.*?)\[/b\]#isu' => '<span class="post-b">$1</span>',
        '#\[i\](.*?)\[/i\]#isu' => '<span class="post-i">$1</span>',
        '#\[u\](.*?)\[/u\]#isu' => '<span class="post-u">$1</span>',
        '#\[(s|del)\](.*?)\[/\1\]#isu' => '<span class="post-s">$2</span>',
        '#\[(su[bp])\](.*?)\[/\1\]#isu' => '<$1>$2</$1>',
        '#\[hr\]#i' => '<hr class="post-hr">',
        '#\[br\]#i' => '<br>',
        '#\[clear\]#i' => '<div class="clear"></div>',
        '#\[pre\](.*?)\[/pre\]#isu' => '<pre class="post-pre">$1</pre>',
        '#\[youtube\]([\w\-]{11})\[/youtube\]#isu' => '<iframe class="post-video" src="https://www.youtube-nocookie.com/embed/$1" width="640" height="360" loading="lazy"></iframe>',
        '#\[table\](.*?)\[/table\]#isu' => '<table class="post-table">$1</table>',
        '#\[(t[dhr])\](.*?)\[/\1\]#isu' => '<$1>$2</$1>',
        '#\[(attach|mention)=(\d+)\](.*?)\[/\1\]#isu' => '<span data-bbcode="$1" data-value="$2">$3</span>',
        '#\[img\]((?:https?://|/(?!/))[^\s"<>\[\]]+?)\[/img\]#isu' => '<img class="postImg" src="$1" loading="lazy" alt="pic">',
        '#\[img=(left|center|right)\]((?:https?://|/(?!/))[^\s"<>\[\]]+?)\[/img\]#isu' => '<img class="postImg postImgAligned img-$1" src="$2" loading="lazy" alt="pic">',
        '#\[email\]([a-z0-9\-_.+]+?@[\w\-]+\.[\w\-.]+)\[/email\]#isu' => '<a href="mailto:$1" class="postLink" rel="nofollow ugc noopener">$1</a>',
    ];
    private const NESTED = [
        '#\[quote="(.+?)"\](.*?)\[/quote\]#isu' => '<div class="q-wrap"><div class="q-head">$1 wrote:</div><div class="q">$2</div></div>',
        '#\[quote\](.*?)\[/quote\]#isu' => '<div class="q-wrap"><div class="q">$1</div></div>',
        '#\[spoiler="(.+?)"\](.*?)\[/spoiler\]#isu' => '<details class="sp-wrap"><summary class="sp-head">$1</summary><div class="sp-body">$2</div></details>',
        '#\[spoiler\](.*?)\[/spoiler\]#isu' => '<details class="sp-wrap"><summary class="sp-head">Hidden text</summary><div class="sp-body">$1</div></details>',
        '#\[color=(\#[0-9a-f]{3,8}|[a-z]{3,20})\](.*?)\[/color\]#isu' => '<span style="color: $1">$2</span>',
        '#\[size=([12]?[0-9])\](.*?)\[/size\]#isu' => '<span style="font-size: $1px; line-height: normal">$2</span>',
        '#\[font="?([\w\- ,]+)"?\](.*?)\[/font\]#isu' => '<span style="font-family: $1">$2</span>',
        '#\[align=(left|right|center|justify)\](.*?)\[/align\]#isu' => '<div class="post-align" style="text-align: $1">$2</div>',
        '#\[(box|indent)\](.*?)\[/\1\]#isu' => '<div class="post-$1">$2</div>',
    ];
    private const SMILIES = [
        ':aa:' => 'aa', ':ab:' => 'ab', ':ac:' => 'ac', ':ae:' => 'ae', ':af:' => 'af', ':ag:' => 'ag',
        ':ah:' => 'ah', ':ai:' => 'ai', ':aj:' => 'aj', ':ak:' => 'ak', ':al:' => 'al', ':am:' => 'am',
        ':an:' => 'an', ':ao:' => 'ao', ':ap:' => 'ap', ':aq:' => 'aq', ':ar:' => 'ar', ':as:' => 'as',
        ':at:' => 'at', ':au:' => 'au', ':av:' => 'av', ':aw:' => 'aw', ':ax:' => 'ax', ':ay:' => 'ay',
        ':az:' => 'az', ':ba:' => 'ba', ':bb:' => 'bb', ':bc:' => 'bc', ':bd:' => 'bd', ':be:' => 'be',
        ':bf:' => 'bf', ':bg:' => 'bg', ':bh:' => 'bh', ':bi:' => 'bi', ':bj:' => 'bj', ':bk:' => 'bk',
        ':bl:' => 'bl', ':bm:' => 'bm', ':bn:' => 'bn', ':bo:' => 'bo', ':bp:' => 'bp', ':bq:' => 'bq',
        ':br:' => 'br', ':bs:' => 'bs', ':bt:' => 'bt', ':bu:' => 'bu', ':bv:' => 'bv', ':bw:' => 'bw',
        ':bx:' => 'bx', ':by:' => 'by', ':bz:' => 'bz', ':ca:' => 'ca', ':cb:' => 'cb', ':cc:' => 'cc',
        ':cd:' => 'cd',
        ':)' => 'smile', ':-)' => 'smile', ':(' => 'sad', ':-(' => 'sad', ';)' => 'wink', ';-)' => 'wink',
        ':D' => 'biggrin', ':P' => 'tongue', ':o' => 'ohmy',
    ];

    private array $patterns;
    private array $replacements;
    private array $smileyPatterns = [];
    private array $smileyImages = [];
    private string $allSmilies;
    private int $hidden = 0;

    public function __construct(private bool $smiliesAtOnce = false)
    {
        $this->patterns = array_keys(self::PLAIN);
        $this->replacements = array_values(self::PLAIN);
        foreach (self::SMILIES as $code => $image) {
            $this->smileyPatterns[] = '#(?<=^|[\s>])' . preg_quote($code, '#') . '(?![^\s<])#u';
            $this->smileyImages[] = '<img class="smile" src="/styles/images/smiles/' . $image . '.gif" alt="' . $code . '">';
        }
        $codes = implode('|', array_map(fn ($code) => preg_quote($code, '#'), array_keys(self::SMILIES)));
        $this->allSmilies = "#(?<=^|[\\s>])(?:$codes)(?![^\\s<])#u";
    }

    public function render(string $text): string
    {
        $text = htmlspecialchars(str_replace("\r", '', $text), ENT_NOQUOTES);
        if (str_contains($text, '[')) {
            $text = $this->tags($text);
        }
        $text = preg_replace_callback(
            '#(?<!["\'=])\b((?:https?|ftps?)://|www\.)' . self::ADDRESS . '++(?!["\']|</a)#iu',
            $this->autolink(...),
            $text
        );
        $text = $this->smiliesAtOnce
            ? preg_replace_callback($this->allSmilies, $this->smiley(...), $text)
            : preg_replace($this->smileyPatterns, $this->smileyImages, $text);
        $text = preg_replace('#\n{2,}#', '<span class="post-br"><br></span>', $text);

        return str_replace("\n", '<br>', $text);
    }

    private function tags(string $text): string
    {
        $text = preg_replace_callback('#\n*\[(code|nfo)\](.+?)\[/\1\]\n*#is', $this->verbatim(...), $text);
        $text = preg_replace_callback('#(\[(?:quote|spoiler)=")(.+?)("\])#isu', $this->title(...), $text);
        $text = preg_replace('#\n*(\[/?(?:' . self::BLOCKS . ')(?:=[^\]\n]*)?\])\n*#i', '$1', $text);
        $this->hidden = 0;
        $text = preg_replace_callback('#\[hide\](.*?)\[/hide\]#isu', $this->hide(...), $text);
        $text = preg_replace_callback('#\[url\](' . self::ADDRESS . '+?)\[/url\]#isu', $this->link(...), $text);
        $text = preg_replace_callback('#\[url="?(' . self::ADDRESS . '+?)"?\](.*?)\[/url\]#isu', $this->link(...), $text);
        $text = preg_replace($this->patterns, $this->replacements, $text);
        foreach (self::NESTED as $pattern => $replacement) {
            do {
                $text = preg_replace($pattern, $replacement, $text, -1, $count);
            } while ($count > 0);
        }
        do {
            $list = '#\[list(?:=([aAiI1]))?\]((?:(?!\[list).)*?)\[/list\]#su';
            $text = preg_replace_callback($list, $this->items(...), $text, -1, $count);
        } while ($count > 0);

        return $text;
    }

    private function smiley(array $found): string
    {
        return '<img class="smile" src="/styles/images/smiles/' . self::SMILIES[$found[0]] . '.gif" alt="' . $found[0] . '">';
    }

    private function verbatim(array $found): string
    {
        $signs = ['[' => '&#91;', ']' => '&#93;', ':' => '&#58;', ')' => '&#41;', "\n" => '&#10;', 'www.' => 'www&#46;'];
        $text = strtr(ltrim($found[2], "\n"), $signs);

        return strtolower($found[1]) === 'nfo'
            ? '<pre class="post-nfo">' . $text . '</pre>'
            : '<div class="c-wrap"><pre class="c-body">' . $text . '</pre></div>';
    }

    private function title(array $found): string
    {
        return $found[1] . strtr($found[2], ['[' => '&#91;', ']' => '&#93;', ':' => '&#58;', ')' => '&#41;']) . $found[3];
    }

    private function hide(): string
    {
        return '<span data-bbcode="hide" data-number="' . $this->hidden++ . '"></span>';
    }

    private function items(array $found): string
    {
        $items = preg_split('#\n*\[\*\]\n*#', $found[2]);
        $before = trim(array_shift($items));
        $html = $before === '' ? '' : '<li>' . $before . '</li>';
        foreach ($items as $item) {
            $html .= '<li>' . $item . '</li>';
        }

        return ($found[1] === '' ? '<ul>' : '<ul type="' . $found[1] . '">') . $html . '</ul>';
    }

    private function link(array $found): string
    {
        $address = $found[1];
        if (!preg_match('#^(?:https?://|ftp://|magnet:|ed2k:|[/\#](?!/))#i', $address)) {
            if (preg_match('#^[a-z][a-z0-9+.\-]*:(?!\d)#i', $address)) {
                return $found[0];
            }
            $address = 'http://' . $address;
        }

        return $this->anchor($address, $found[2] ?? self::shortened($found[1]));
    }

    private function autolink(array $found): string
    {
        $shown = rtrim($found[0], '.,:;!?*_~');
        $rest = substr($found[0], strlen($shown));
        $address = stripos($shown, 'www.') === 0 ? 'http://' . $shown : $shown;

        return $this->anchor($address, self::shortened($shown)) . $rest;
    }

    private function anchor(string $address, string $shown): string
    {
        return '<a href="' . $address . '" class="postLink" rel="nofollow ugc noopener">' . $shown . '</a>';
    }

    private static function shortened(string $address): string
    {
        return strlen($address) <= 70 ? $address : substr($address, 0, 52) . '…' . substr($address, -17);
    }
}

if (PHP_SAPI === 'cli' && realpath($argv[0]) === __FILE__) {
    $posts = explode("\0", rtrim(file_get_contents($argv[1]), "\0"));
    $bbcode = new Bbcode(($argv[3] ?? '') === 'smilies-at-once');
    if ($argv[2] === 'html') {
        foreach ($posts as $post) {
            echo $bbcode->render($post), "\0";
        }
        exit;
    }
    $bytes = 0;
    $written = 0;
    for ($round = 0; $round < (int) $argv[2]; $round++) {
        foreach ($posts as $post) {
            $written += strlen($bbcode->render($post));
            $bytes += strlen($post);
        }
    }
    echo "$bytes $written\n";
}
