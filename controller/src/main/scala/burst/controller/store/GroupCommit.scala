package burst.controller.store

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.{Failure, Success, Try}

/** Lets concurrent writers share a transaction: it is begun and committed once, and statements of one kind go
  * to the database together. A write that arrives while there is no other is done immediately; one that
  * arrives during another joins the next transaction, on the same thread, and no further thread waits for it.
  *
  * Work may be done twice: if a transaction fails, it is unknown which member caused it, and each is tried
  * separately.
  *
  * @param write
  *   a transaction on this thread, with an outcome for each member
  * @param oneWriter
  *   whether members that are tried separately run one after the other, as the database allows one writer.
  *   Otherwise each is given to the threads: a database that does not answer keeps each waiting
  * @param weight
  *   the memory that one member takes, approximately; those of one transaction have no more than `MostWeight`
  *   together, unless it is a single one
  */
private[store] final class GroupCommit[A, B](
    write: Vector[A] => Vector[Try[B]],
    oneWriter: Boolean,
    weight: A => Long
):
  import GroupCommit.*

  private val waiting = mutable.Queue.empty[Member]
  private var busy = false

  /** Writes on one of these threads, or on one that is writing already. */
  def apply(threads: ExecutionContext)(work: A): Future[B] =
    val own = Member(work, threads)
    val first = synchronized:
      waiting += own
      val first = !busy
      busy = true
      first
    if first then
      try threads.execute(() => commitAll())
      // Catches fatal errors as well: a thread that cannot be started is an OutOfMemoryError.
      catch case refused: Throwable => giveUp(refused)
    own.done.future

  /** How many writes wait for the next transaction. */
  def awaiting: Int = synchronized(waiting.size)

  private def commitAll(): Unit =
    try Iterator.continually(next()).takeWhile(_.nonEmpty).foreach(commit)
    catch
      case fatal: Throwable =>
        giveUp(fatal)
        throw fatal

  private def next(): Vector[Member] = synchronized:
    val weights = waiting.iterator.map(member => weight(member.work)).scanLeft(0L)(_ + _).drop(1)
    val fitting = weights.take(Most).takeWhile(_ <= MostWeight).size
    val all = Vector.fill(fitting.max(1).min(waiting.size))(waiting.dequeue())
    busy = all.nonEmpty
    all

  private def commit(all: Vector[Member]): Unit =
    try
      Try(write(all.map(_.work))).filter(_.size == all.size) match
        case Success(outcomes) =>
          all.zip(outcomes).foreach((member, outcome) => member.done.complete(outcome))
        case Failure(cause) if all.size == 1 => all.foreach(_.done.failure(cause))
        case Failure(_) if oneWriter => all.foreach(_.alone())
        case Failure(_) => all.foreach(_.aloneElsewhere())
    // Notifies the members even of errors that end this thread.
    catch
      case fatal: Throwable =>
        all.foreach(_.done.tryFailure(fatal))
        throw fatal

  private def giveUp(cause: Throwable): Unit =
    val all = synchronized:
      busy = false
      waiting.dequeueAll(_ => true)
    all.foreach(_.done.failure(cause))

  private final class Member(val work: A, threads: ExecutionContext):
    val done = Promise[B]()

    def alone(): Unit =
      try
        val _ = done.complete(Try(write(Vector(work))).flatMap(_.head))
      // Notifies the member even of errors that end this thread.
      catch
        case fatal: Throwable =>
          done.tryFailure(fatal)
          throw fatal

    def aloneElsewhere(): Unit =
      try threads.execute(() => alone())
      catch case refused: Throwable => done.tryFailure(refused)

private object GroupCommit:
  /** The most members of a transaction: the first write must not wait long for all others. */
  val Most = 256

  /** The most weight of a transaction, in bytes. */
  val MostWeight: Long = 4L << 20
