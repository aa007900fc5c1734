package burst.invoker.driver

import java.util.concurrent.ThreadLocalRandom

/** The users that containers may run as, by number: `first` to `last`. */
final case class UserRange(first: Long, last: Long):
  def size: Long = last - first + 1

  /** All of them, from a random one on: where others seldom are, and where the last one was seldom. */
  def fromAnywhere: Iterator[Long] =
    val start = ThreadLocalRandom.current.nextLong(size)
    Iterator.iterate(start)(offset => (offset + 1) % size).map(first + _).take(size.toInt)

object UserRange:
  /** What the daemon takes for a user's number at most. */
  private val Greatest = Int.MaxValue.toLong

  /** Reads `first-last`. */
  def parse(text: String): Either[UnreadableSetting, UserRange] =
    text.split('-').map(_.trim.toLongOption) match
      case Array(Some(first), Some(last)) if 0 < first && first <= last && last <= Greatest =>
        Right(UserRange(first, last))
      case _ =>
        val instead = "write the first and the last one's number, such as 100000-165535"
        Left(UnreadableSetting(text, "no range of users", instead))
