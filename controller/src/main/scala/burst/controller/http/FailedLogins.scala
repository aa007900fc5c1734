package burst.controller.http

import burst.controller.limits.LruCache
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.HexFormat
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.FiniteDuration
import scala.util.Success

/** Bounds how often a client's credentials may turn out wrong, as looking them up is work. Credentials that
  * were valid before are always looked up: their owner may share an address with someone who guesses.
  */
final class FailedLogins(perMinute: Int, rates: RateLimiter):
  private val good = LruCache[String, String](FailedLogins.Remembered)

  /** Returns what `look` finds, or how long to wait before asking again. If it fails, the credentials count
    * neither as right nor as wrong.
    */
  def within[A](client: String, credentials: String)(look: => Future[Option[A]])(using
      ExecutionContext
  ): Future[Either[FiniteDuration, Option[A]]] =
    val digest = hash(credentials)
    if isKnownGood(digest) then
      look.map: found =>
        if found.isEmpty then synchronized(good.remove(digest))
        Right(found)
    else
      rates.take(client, perMinute) match
        case Left(pause) => Future.successful(Left(pause))
        case Right(()) =>
          look
            .andThen:
              case Success(None) => ()
              case _ => rates.giveBack(client, perMinute)
            .map: found =>
              if found.isDefined then synchronized(good.put(digest, digest))
              Right(found)

  /** Counts credentials of a client that are known to be wrong; returns how long to wait if there were too
    * many.
    */
  def failed(client: String): Either[FiniteDuration, None.type] = rates.take(client, perMinute).map(_ => None)

  private def isKnownGood(digest: String): Boolean = synchronized(Option(good.get(digest))).isDefined

  private def hash(credentials: String): String =
    HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(credentials.getBytes(UTF_8)))

private object FailedLogins:
  val Remembered = 10_000
