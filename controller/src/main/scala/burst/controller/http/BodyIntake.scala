package burst.controller.http

import burst.controller.limits.ByteRateLimiter
import burst.controller.store.Blocking
import org.apache.pekko.http.scaladsl.model.HttpRequest
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}

/** Takes in the bodies of one kind of call, which may be large: holds no more bytes at once than the settings
  * allow, gives each namespace its share and its rate, and has the bodies processed on threads of their own,
  * in turn.
  *
  * Small bodies have a part of the memory, and a rate, of their own: they never wait behind large ones, nor
  * for their threads.
  *
  * @param anyThreads
  *   runs the work on small bodies
  */
final class BodyIntake(
    body: RequestBody,
    settings: BodyIntake.Settings,
    executor: FairExecutor,
    anyThreads: Blocking
)(using ExecutionContext):
  import BodyIntake.*

  private val reserve = settings.reserve
  private val small = budget(reserve, (reserve / Namespaces).max(Small))
  private val most = (settings.limit / Namespaces).max(settings.bodyLimit)
  private val large = budget(settings.limit - reserve, most)

  private def budget(total: Long, most: Long) =
    BodyBudget(total, most, Some(ByteRateLimiter(settings.rate, settings.burst)))

  /** Reads the body of a request and runs `work` on it; its bytes stay reserved until the work has ended. */
  def apply[A](namespace: String, request: HttpRequest, limit: Long = Long.MaxValue)(
      work: Taken => Future[Either[ApiError, A]]
  ): Future[Either[ApiError, A]] =
    val isSmall = request.entity.contentLengthOption.exists(_ <= Small)
    (if isSmall then small else large).within(namespace): share =>
      Refusable(body.read(request, settings.bodyLimit.min(limit), share)): bytes =>
        def taken(whole: ByteString) = work(Taken(namespace, whole))
        if isSmall then Refusable(body.checked(bytes))(taken)
        else Refusable(executor(namespace)(body.checked(bytes)))(taken)

  /** Does the same with a body of any content type, from which `read` makes the value that `work` receives.
    */
  def ofAnyType[A, B](namespace: String, request: HttpRequest)(
      read: ByteString => Either[ApiError, Growing[A]]
  )(
      work: A => Future[Either[ApiError, B]]
  ): Future[Either[ApiError, B]] =
    val isSmall = request.entity.contentLengthOption.exists(_ <= Small)
    (if isSmall then small else large).within(namespace): share =>
      Refusable(body.bytes(request, settings.bodyLimit, share)): bytes =>
        Taken(namespace, bytes.compact).growing(read)(work)

  /** A body in one piece; unless it came through `ofAnyType`, its JSON has been checked and can be parsed. */
  final class Taken private[BodyIntake] (namespace: String, bytes: ByteString):
    /** The largest value made from the body that is accounted for, in bytes. */
    def most: Long = BodyIntake.this.most

    /** Runs work on the body that is expensive whatever its size. */
    def inTurn[A](work: ByteString => A): Future[A] = executor(namespace)(work(bytes))

    /** Runs `make`, whose result may become larger than the body, and then `work` on the result. Its memory
      * stays reserved until that work has ended.
      */
    def growingInTurn[A, B](make: (ByteString, Room) => Either[ApiError, A])(
        work: A => Future[Either[ApiError, B]]
    ): Future[Either[ApiError, B]] =
      within(room => Refusable(inTurn(make(_, room)))(work))

    /** Runs `work` on a value made of the body, whose memory stays reserved until the work has ended. `read`
      * may look things up in the database, which it does not change.
      */
    def growing[A, B](read: ByteString => Either[ApiError, Growing[A]])(
        work: A => Future[Either[ApiError, B]]
    ): Future[Either[ApiError, B]] =
      within: room =>
        Refusable(onThreads(0)(read(bytes))): growing =>
          if growing.most == 0 then Refusable(growing.make(room))(work)
          else Refusable(onThreads(growing.most)(growing.make(room)))(work)

    private def within[A](work: Room => Future[A]): Future[A] =
      small.within(namespace)(few => large.within(namespace)(many => work(roomFor(few, many))))

    /** Runs work on the threads for large bodies if the body is or becomes large, else on `anyThreads`. */
    private def onThreads[A](more: Long)(work: => A): Future[A] =
      if bytes.length + more <= Small then anyThreads.reading(work) else inTurn(_ => work)

    /** Memory for the body itself is reserved in any case; more can be requested in steps. The additional
      * bytes are counted against the namespace's rate as a body of that size would be, and are refused rather
      * than waited for, as the body's own memory would be held meanwhile. More than a namespace's share costs
      * the whole share, or it would never be admitted. If it is only a little more, what the rate for small
      * bodies can spare is tried first: bodies that arrive small and stay small would otherwise use up what
      * later ones then wait for.
      */
    private def roomFor(few: BodyBudget.Share, many: BodyBudget.Share): Room =
      var there = bytes.length.toLong
      made =>
        val more = made.min(most) - there
        def isIn(share: BodyBudget.Share) = share.announce(more).isDefined && share.take(more)
        val fits = more <= 0 || (more <= Small && few.afford(more) && few.take(more)) || isIn(many)
        if fits then there = there.max(made)
        fits

object BodyIntake:
  /** @param limit
    *   bytes that are held at once, of bodies of `bodyLimit` bytes at most
    * @param rate
    *   bytes of a namespace per second, after `burst` at once
    */
  final case class Settings(bodyLimit: Long, limit: Long, rate: Long, burst: Long):
    /** The bytes reserved for small bodies. */
    def reserve: Long = (limit / 8).max(Small)

    /** Returns the settings with a body limit that fits into the memory. */
    def fitting: Settings = copy(bodyLimit = bodyLimit.min(limit - reserve))

  /** Reserves memory for a value of that many bytes, unless too little is left; returns whether it did. */
  type Room = Long => Boolean

  /** A value read from a body, which `make` enlarges by at most `most` bytes; 0 if making it takes no
    * noticeable work.
    */
  final case class Growing[A](most: Long, make: Room => Either[ApiError, A]):
    def map[B](change: A => B): Growing[B] = Growing(most, make(_).map(change))

  object Growing:
    /** A value that is complete. */
    def done[A](whole: A): Growing[A] = Growing(0, _ => Right(whole))

    /** A value that grows by `more` bytes only when it is used. A few bytes are free, as most calls need
      * them.
      */
    def later[A](body: ByteString, more: Long)(whole: A): Growing[A] =
      if more <= Few then done(whole)
      else Growing(0, room => Either.cond(room(body.length + more), whole, ApiError.Busy))

  /** The most bytes of a body, and of what is made of it, that any thread may parse. */
  private val Small = 64 * 1024

  /** Bytes that may be added to the body of any request without being accounted for. */
  private val Few = 16 * 1024

  /** How many namespaces can share the memory at least, unless it fits only a few bodies. */
  private val Namespaces = 4
