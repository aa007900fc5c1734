package burst.controller.http

import burst.controller.limits.ByteRateLimiter
import burst.controller.store.Blocking
import org.apache.pekko.http.scaladsl.model.HttpRequest
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}

/** Takes in the bodies of one kind of calls, which may be large: as many bytes at once as the settings allow,
  * of each namespace its share and at its pace, and has them worked on by threads of their own, by turns.
  *
  * Small ones have a part of the memory, and a pace, to themselves: they never wait behind large ones, nor
  * for their threads.
  *
  * @param anyThreads
  *   for what is done with small bodies
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

  /** Works with the body of a request, whose bytes are set aside until the work has ended. */
  def apply[A](namespace: String, request: HttpRequest, limit: Long = Long.MaxValue)(
      work: Taken => Future[Either[ApiError, A]]
  ): Future[Either[ApiError, A]] =
    val isSmall = request.entity.contentLengthOption.exists(_ <= Small)
    (if isSmall then small else large).within(namespace): share =>
      Refusable(body.read(request, settings.bodyLimit.min(limit), share)): bytes =>
        def taken(whole: ByteString) = work(Taken(namespace, whole))
        if isSmall then Refusable(body.checked(bytes))(taken)
        else Refusable(executor(namespace)(body.checked(bytes)))(taken)

  /** Works with what is made of a body of any type. */
  def ofAnyType[A, B](namespace: String, request: HttpRequest)(
      read: ByteString => Either[ApiError, Growing[A]]
  )(
      work: A => Future[Either[ApiError, B]]
  ): Future[Either[ApiError, B]] =
    val isSmall = request.entity.contentLengthOption.exists(_ <= Small)
    (if isSmall then small else large).within(namespace): share =>
      Refusable(body.bytes(request, settings.bodyLimit, share)): bytes =>
        Taken(namespace, bytes.compact).growing(read)(work)

  /** A body in one piece, whose JSON may be read. */
  final class Taken private[BodyIntake] (namespace: String, bytes: ByteString):
    /** Bytes that what is made of it may have and be paid for. */
    def most: Long = BodyIntake.this.most

    /** Does with the body what is much work whatever its size. */
    def inTurn[A](work: ByteString => A): Future[A] = executor(namespace)(work(bytes))

    /** The same with what may become larger than the body, and then works with that. There is memory for it
      * until that work has ended.
      */
    def growingInTurn[A, B](make: (ByteString, Room) => Either[ApiError, A])(
        work: A => Future[Either[ApiError, B]]
    ): Future[Either[ApiError, B]] =
      within(room => Refusable(inTurn(make(_, room)))(work))

    /** Works with what is made of the body, for which there is memory until the work has ended. What `read`
      * looks for is in the database, which it does not change.
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

    /** A large body, or one that becomes large, on the threads for that. */
    private def onThreads[A](more: Long)(work: => A): Future[A] =
      if bytes.length + more <= Small then anyThreads.reading(work) else inTurn(_ => work)

    /** There is memory for the size of the body itself in any case; more may be asked for in steps. More is
      * counted against the namespace's rate as a body of that size would be, and is refused rather than
      * waited for, as the body's own memory would be held meanwhile. More than a namespace's share costs the
      * whole share, or it would never be let in. If it is only a little more, what the rate has to spare is
      * tried first: bodies that come small and stay so would otherwise spend what later ones then wait for.
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
    *   bytes that are taken in at once, of bodies of `bodyLimit` bytes at most
    * @param rate
    *   bytes of a namespace in a second, after `burst` at once
    */
  final case class Settings(bodyLimit: Long, limit: Long, rate: Long, burst: Long):
    /** For small bodies alone. */
    def reserve: Long = (limit / 8).max(Small)

    /** As far as the memory goes. */
    def fitting: Settings = copy(bodyLimit = bodyLimit.min(limit - reserve))

  /** Sets bytes aside, unless there are too few left. */
  type Room = Long => Boolean

  /** What was read of a body, and is to be made larger: by `most` bytes at most, or by none that is any work.
    */
  final case class Growing[A](most: Long, make: Room => Either[ApiError, A]):
    def map[B](change: A => B): Growing[B] = Growing(most, make(_).map(change))

  object Growing:
    /** Nothing has to be made. */
    def done[A](whole: A): Growing[A] = Growing(0, _ => Right(whole))

    /** It is made larger by so many bytes only when it is worked with. Few are free, as most calls have them.
      */
    def later[A](body: ByteString, more: Long)(whole: A): Growing[A] =
      if more <= Few then done(whole)
      else Growing(0, room => Either.cond(room(body.length + more), whole, ApiError.Busy))

  /** Bytes of a body, with what is made of it, that any thread may take apart. */
  private val Small = 64 * 1024

  /** Bytes that may be added to the body of any request under way. */
  private val Few = 16 * 1024

  /** How many namespaces share the memory at least, unless it is that of a few bodies. */
  private val Namespaces = 4
