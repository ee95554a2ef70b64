"""Invented text at speed: prose, listings and CJK from small vocabularies and one seeded random source."""

from __future__ import annotations

import random

_ENGLISH = """
the a of to and in is for that on with as are this be by it from or at an was not we can have which will if harbor
ledger meadow lantern copper orchard signal river bridge window budget token session agent message summary context
request answer branch worker queue cache index schema tenant replica cursor retry deploy rollout invoice customer
account payment balance report release build test failure warning timeout latency memory thread function module import
return value default optional argument parameter settings configuration directory file line column table record update
insert delete select filter order group count average maximum minimum before after between because although however
therefore while until during against without within across through about please check whether every change keeps its
promise under load when nothing else runs on this small machine
"""
_CJK = """
今天 我们 检查 会话 窗口 压缩 之后 消息 仍然 保留 数据 模型 调用 工具 结果 文件 内容 需要 确认 港口 灯塔 预算 报告 设定
を 確認 する 会話 の 要約 が 必要 です 記録 から 復元 した 値 は 正しい 안녕 세션 요약 확인
"""
WORDS = tuple(_ENGLISH.split())
CJK = tuple(_CJK.split())
NAMES = ("parser", "reader", "writer", "store", "window", "ledger", "router", "planner", "buffer", "cursor", "digest")


class Writer:
    """Texts of a wanted length in characters; the same seed gives the same texts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        # Phrases of three words: nearly as varied as single words and three times as fast to draw.
        self._phrases = [" ".join(self.random.choices(WORDS, k=3)) for _ in range(20_000)]
        self._listing = [self._code_line() for _ in range(4_000)]
        self._cjk = ["".join(self.random.choices(CJK, k=4)) for _ in range(8_000)]

    def prose(self, chars: int) -> str:
        """English-like sentences."""
        draw = self.random.choices
        return ". ".join(" ".join(draw(self._phrases, k=4)) for _ in range(max(1, chars // 76)))

    def listing(self, chars: int) -> str:
        """What a tool prints: numbered lines of code with paths and numbers, each unlike any other."""
        lines = self.random.choices(self._listing, k=max(1, chars // 58))
        start = self.random.randrange(100_000)
        return "\n".join(f"{start + number:6}  {line}" for number, line in enumerate(lines))

    def cjk(self, chars: int) -> str:
        """Chinese, Japanese and Korean words without spaces, with full stops."""
        draw = self.random.choices
        return "".join("".join(draw(self._cjk, k=3)) + "。" for _ in range(max(1, chars // 25)))

    def length(self, mean: int) -> int:
        """A length around `mean`, most shorter and a few several times longer, as in real sessions."""
        return max(20, min(20 * mean, int(self.random.lognormvariate(0, 0.8) * mean * 0.72)))

    def identifier(self, digits: int = 32) -> str:
        """Hex digits."""
        return f"{self.random.getrandbits(digits * 4):0{digits}x}"

    def uuid(self) -> str:
        """Hex digits in the shape of a UUID."""
        text = self.identifier()
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"

    def path(self) -> str:
        """A file of an invented project."""
        return f"src/{self.random.choice(NAMES)}/{self.random.choice(NAMES)}_{self.random.randrange(1000)}.py"

    def _code_line(self) -> str:
        one, two, word = self.random.choice(NAMES), self.random.choice(NAMES), self.random.choice(WORDS)
        number = self.random.randrange(10_000)
        return self.random.choice(
            (
                f"    {one}_{word} = {two}.{word}({number}, default=None)",
                f"src/{one}/{two}.py:{number}: warning: {word} is never used",
                f"def {one}_{word}(self, {two}: int = {number}) -> str:",
                f'        raise ValueError("{word} {number} is not a {one}")',
            )
        )
