package burst.invoker.driver

import java.util.concurrent.ThreadLocalRandom

/** The users that containers can run as, by number: `first` to `last`. */
final case class UserRange(first: Long, last: Long):
  def size: Long = last - first + 1

  /** All of them, starting at a random one: others are rarely there, and neither was the last claim. */
  def fromAnywhere: Iterator[Long] =
    val start = ThreadLocalRandom.current.nextLong(size)
    Iterator.iterate(start)(offset => (offset + 1) % size).map(first + _).take(size.toInt)

object UserRange:
  /** The greatest user id that the daemon accepts. */
  private val Greatest = Int.MaxValue.toLong

  /** Reads `first-last`. */
  def parse(text: String): Either[UnreadableSetting, UserRange] =
    text.split('-').map(_.trim.toLongOption) match
      case Array(Some(first), Some(last)) if 0 < first && first <= last && last <= Greatest =>
        Right(UserRange(first, last))
      case _ =>
        val advice = "write the first and the last one's number, such as 100000-165535"
        Left(UnreadableSetting(text, "no range of users", advice))
