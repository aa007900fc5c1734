package burst.controller.http

import burst.controller.limits.ByteRateLimiter
import scala.collection.immutable.{Queue, VectorMap}
import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}

/** Bounds how many bytes of bodies are held at once, over all connections: each is held several times over
  * while it is parsed, and a handful of the largest would exhaust the heap, which ends the process.
  *
  * @param most
  *   how many of them one namespace may hold, so that none keeps the others out
  * @param rate
  *   how fast each namespace's bodies are taken in, as they cost processor time that all share
  */
final class BodyBudget(total: Long, most: Long, rate: Option[ByteRateLimiter] = None):
  private var held = Map.empty[String, Long].withDefaultValue(0L)
  private var inAll = 0L

  /** The requests that wait for memory, by namespace; the namespace whose turn is next comes first. No queue
    * is empty.
    */
  private var waiting = VectorMap.empty[String, Queue[Waiting]]

  private final case class Waiting(bytes: Long, share: Own, promise: Promise[Unit])

  /** Runs work with a share of the budget, which is released when the work has ended. */
  def within[A](namespace: String)(work: BodyBudget.Share => Future[A]): Future[A] =
    given ExecutionContext = ExecutionContext.parasitic
    val share = Own(namespace)
    // Starts inside a future, so that nothing stays reserved if it throws.
    Future.unit.flatMap(_ => work(share)).andThen { case _ => share.close() }

  private def fits(namespace: String, bytes: Long): Boolean = held(namespace) + bytes <= most

  /** Returns the request whose turn it is; namespaces that have used up their share are passed over. */
  private def next: Option[Waiting] =
    waiting.collectFirst { case (namespace, line) if fits(namespace, line.head.bytes) => line.head }

  /** Serves waiting requests in turn. None overtakes the one whose turn it is, or a large one would wait for
    * ever.
    */
  private def serve(): Unit =
    next.filter(inAll + _.bytes <= total) match
      case Some(first) =>
        val namespace = first.share.namespace
        val rest = waiting(namespace).tail
        waiting = waiting.removed(namespace)
        if rest.nonEmpty then waiting = waiting.updated(namespace, rest)
        first.share.grant(first.bytes)
        first.promise.success(())
        serve()
      case None => ()

  private final class Own(val namespace: String) extends BodyBudget.Share:
    private var mine = 0L
    private var ahead = 0L
    private var announced = 0L
    private var admitted = false

    def announce(bytes: Long): Option[FiniteDuration] =
      val pause = rate.fold(Some(Duration.Zero))(_.spend(namespace, bytes))
      if pause.isDefined then BodyBudget.this.synchronized(announced += bytes)
      pause

    def afford(bytes: Long): Boolean =
      val there = rate.forall(_.take(namespace, bytes))
      if there then BodyBudget.this.synchronized(announced += bytes)
      there

    def reserve(bytes: Long): Future[Unit] = BodyBudget.this.synchronized:
      val waits = Waiting(bytes, this, Promise())
      waiting = waiting.updated(namespace, waiting.getOrElse(namespace, Queue.empty).enqueue(waits))
      serve()
      waits.promise.future

    def take(bytes: Long): Boolean = BodyBudget.this.synchronized:
      val more = (bytes - ahead).max(0)
      // Requests that already wait go first.
      admitted = more == 0 || (fits(namespace, more) && inAll + more <= total && next.isEmpty)
      if admitted then
        hold(more)
        ahead += more - bytes
      admitted

    def release(): Unit = BodyBudget.this.synchronized:
      waiting.get(namespace).map(_.filterNot(_.share eq this)).foreach: others =>
        waiting = if others.isEmpty then waiting.removed(namespace) else waiting.updated(namespace, others)
      hold(-mine)
      ahead = 0
      serve()

    private[BodyBudget] def grant(bytes: Long): Unit =
      admitted = true
      ahead += bytes
      hold(bytes)

    def close(): Unit = BodyBudget.this.synchronized:
      // A body that got memory is charged whether it arrived or not; a refused one will be sent again.
      if !admitted then rate.foreach(_.giveBack(namespace, announced))
      announced = 0
      release()

    private def hold(bytes: Long): Unit =
      mine += bytes
      inAll += bytes
      val left = held(namespace) + bytes
      held = if left == 0 then held - namespace else held.updated(namespace, left)

object BodyBudget:
  /** One request's share of the budget. */
  trait Share:
    /** Announces bytes that are about to arrive; returns how long to wait before reading any of them, or
      * nothing if too many are already waited for.
      */
    def announce(bytes: Long): Option[FiniteDuration]

    /** Announces bytes if they need not be waited for; returns whether that was so. */
    def afford(bytes: Long): Boolean

    /** Completes once bytes are reserved, from which [[take]] is then served; namespaces take turns. A body
      * admitted in this way can be received to its end, however many others begin.
      */
    def reserve(bytes: Long): Future[Unit]

    /** Reserves bytes, unless too few are left; returns whether it did. */
    def take(bytes: Long): Boolean

    /** Releases what is reserved, and stops waiting for more. */
    def release(): Unit

  /** A share without limits, for bodies that are small in any case. */
  object Free extends Share:
    def announce(bytes: Long): Option[FiniteDuration] = Some(Duration.Zero)
    def afford(bytes: Long): Boolean = true
    def reserve(bytes: Long): Future[Unit] = Future.unit
    def take(bytes: Long): Boolean = true
    def release(): Unit = ()
