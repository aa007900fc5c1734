package burst.invoker.driver

import com.github.dockerjava.api.exception.ConflictException
import java.util.concurrent.ThreadLocalRandom
import scala.util.{Failure, Success, Try}

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
  def parse(text: String): Either[String, UserRange] = text.split('-').map(_.trim.toLongOption) match
    case Array(Some(first), Some(last)) if 0 < first && first <= last && last <= Greatest =>
      Right(UserRange(first, last))
    case _ =>
      Left(s"'$text' is no range of users: write the first and the last one's number, such as 100000-165535")

/** Gives every container a user of its own, since much of what the kernel has is counted by user, across
  * containers.
  *
  * The daemon keeps the books: a container bears its user in its name, of which there cannot be two. So users
  * are unique among all invokers of a daemon, are free again when their container is removed, and are never
  * lost.
  */
private[driver] final class ContainerUsers(range: UserRange):

  /** The first that nobody else has, by `create`, which fails with a conflict where somebody has. */
  def claim[A](create: Long => A): A =
    range.fromAnywhere
      .take(ContainerUsers.MaxAttempts)
      .map(user => Try(create(user)))
      .collectFirst:
        case Success(created) => created
        case Failure(problem) if !problem.isInstanceOf[ConflictException] => throw problem
      .getOrElse(throw IllegalStateException(s"no user from ${range.first} to ${range.last} is free"))

private[driver] object ContainerUsers:
  /** What is taken so often in a row is taken by too many. */
  private val MaxAttempts = 1000

  def name(user: Long): String = s"burst-$user"
