package burst.controller.http

/** The unit of a number in a request, so that a limit can be shown as people write it. */
enum Measure(units: (String, Long)*):
  case Count extends Measure()
  case Milliseconds extends Measure("h" -> 3_600_000L, "m" -> 60_000L, "s" -> 1000L, "ms" -> 1L)
  case Bytes extends Measure("G" -> (1L << 30), "M" -> (1L << 20), "K" -> 1024L, "" -> 1L)
  case Mebibytes extends Measure("T" -> (1L << 20), "G" -> 1024L, "M" -> 1L)

  /** Returns the note behind a range that ends with `most`, such as ` (milliseconds, at most 15m)`. */
  def explained(most: Long): String = this match
    case Count => ""
    case Milliseconds => s" (milliseconds, at most ${spelt(most)})"
    case Bytes => s" (bytes, at most ${spelt(most)})"
    case Mebibytes => s" (MiB, at most ${spelt(most)})"

  /** Writes a value in the largest unit that divides it. */
  private def spelt(value: Long): String =
    units.find((_, size) => value % size == 0).fold(value.toString)((unit, size) => s"${value / size}$unit")
