package burst.controller.http

import org.apache.pekko.http.scaladsl.model.HttpRequest

/** The header by which a client that received no answer can repeat its request, after the IETF's draft. The
  * key is the header's value, including its quotes if it has any.
  */
object IdempotencyKey:
  val Header = "Idempotency-Key"
  val MaxLength = 255

  def of(request: HttpRequest): Either[ApiError, Option[String]] =
    request.headers.filter(_.is("idempotency-key")).map(_.value) match
      case Seq() => Right(None)
      case Seq(key) if isKey(key) => Right(Some(key))
      case _ => Left(ApiError.InvalidIdempotencyKey)

  private def isKey(text: String): Boolean =
    text.nonEmpty && text.length <= MaxLength && text.forall(c => c >= ' ' && c <= '~')
