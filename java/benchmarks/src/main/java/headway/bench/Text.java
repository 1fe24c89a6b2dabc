package headway.bench;

import java.util.SplittableRandom;

/** Makes text with the word frequencies of a natural language (Zipf's law), the same for the same seed. */
final class Text {
  private static final int VOCABULARY = 20_000;
  private static final String SYLLABLES = "banolirevotumasekidopagufezahy";

  private final SplittableRandom random;

  Text(long seed) {
    random = new SplittableRandom(seed);
  }

  /** Returns a word: the r-th most frequent one with a probability of about 1/r. */
  String word() {
    int rank = (int) Math.exp(random.nextDouble() * Math.log(VOCABULARY));
    StringBuilder word = new StringBuilder();
    for (int rest = rank + 7; rest > 0; rest /= 15) {
      int syllable = rest % 15 * 2;
      word.append(SYLLABLES, syllable, syllable + 2);
    }
    return word.toString();
  }

  /** Returns {@code count} words with spaces between. */
  String words(int count) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < count; i++) {
      text.append(i == 0 ? "" : " ").append(word());
    }
    return text.toString();
  }

  int number(int bound) {
    return random.nextInt(bound);
  }
}
