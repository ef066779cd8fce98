<?php if (!defined('BOARD')) exit; ?>
</main>
<footer>
    <p><?= escape(BOARD_NAME) ?> is kept by its members. Be kind, keep the wick trimmed, and put the lamp out when you leave.</p>
</footer>
</body>
</html>
