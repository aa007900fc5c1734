package burst.controller.http

import burst.controller.BytePace
import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}

/** How many bytes of bodies may be held at once, over all connections: each is held several times over while
  * it is taken apart, and a handful of the largest would exhaust the heap, which ends the process.
  *
  * @param most
  *   of them for one namespace, so that none keeps the others out
  * @param pace
  *   at which each namespace's are taken in, as they cost processor time that all share
  */
final class BodyBudget(total: Long, most: Long, pace: Option[BytePace] = None):
  private var held = Map.empty[String, Long].withDefaultValue(0L)
  private var inAll = 0L

  /** Works with a share of the budget, which is given back when the work has ended. */
  def within[A](namespace: String)(work: BodyBudget.Share => Future[A]): Future[A] =
    given ExecutionContext = ExecutionContext.parasitic
    val share = Own(namespace)
    // Begun within a future, so that nothing stays set aside when it throws.
    Future.unit.flatMap(_ => work(share)).andThen { case _ => share.close() }

  private final class Own(namespace: String) extends BodyBudget.Share:
    private var mine = 0L
    private var ahead = 0L
    private var announced = 0L
    private var refused = false

    def reserve(bytes: Long): Boolean = BodyBudget.this.synchronized:
      val fits = take(bytes)
      if fits then ahead += bytes
      fits

    def announce(bytes: Long): Option[FiniteDuration] =
      val pause = pace.fold(Some(Duration.Zero))(_.spend(namespace, bytes))
      if pause.isDefined then BodyBudget.this.synchronized(announced += bytes)
      pause

    def take(bytes: Long): Boolean = BodyBudget.this.synchronized:
      val reserved = bytes.min(ahead)
      val more = bytes - reserved
      val fits = inAll + more <= total && held(namespace) + more <= most
      if fits then
        ahead -= reserved
        hold(more)
      else refused = true
      fits

    def close(): Unit = BodyBudget.this.synchronized:
      // What was refused will be sent again, and what did not come costs nothing.
      val unspent = if refused then announced else announced - (mine - ahead)
      if unspent > 0 then pace.foreach(_.giveBack(namespace, unspent))
      announced = 0
      hold(-mine)

    private def hold(bytes: Long): Unit =
      mine += bytes
      inAll += bytes
      val left = held(namespace) + bytes
      held = if left == 0 then held - namespace else held.updated(namespace, left)

object BodyBudget:
  /** One request's part. */
  trait Share:
    /** Sets bytes aside of which [[take]] is to be served, unless there are too few left. What has begun to
      * come in this way can be ended, however many others begin.
      */
    def reserve(bytes: Long): Boolean

    /** So many bytes are to come: says how long to wait before any of them is read. Nothing when too many are
      * waited for already.
      */
    def announce(bytes: Long): Option[FiniteDuration]

    /** Sets bytes aside, unless there are too few left. */
    def take(bytes: Long): Boolean

  /** For bodies that are small in any case. */
  object Free extends Share:
    def reserve(bytes: Long): Boolean = true
    def announce(bytes: Long): Option[FiniteDuration] = Some(Duration.Zero)
    def take(bytes: Long): Boolean = true
