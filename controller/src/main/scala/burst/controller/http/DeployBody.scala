package burst.controller.http

import burst.controller.definition.FlareOptions
import burst.controller.store.NamespaceLimits
import io.circe.{Json, JsonObject}
import java.util.Base64

/** What a deploy brings: the package's bytes and the definition around it. Without parameters it leaves those
  * that are there.
  */
final case class Deployment(
    kind: String,
    code: Array[Byte],
    options: FlareOptions,
    parameters: Option[JsonObject]
)

/** Reads the body of a deploy. Pure. */
final class DeployBody(options: OptionsReader):
  def read(body: Json, limits: NamespaceLimits): Either[ApiError, Deployment] =
    for
      fields <- Fields.of(body)
      _ <- fields.only("exec", "config", "parameters")
      exec <- fields.requiredFields("exec")
      _ <- exec.only("kind", "code")
      kind <- exec.choice("kind", DeployBody.Kinds)
      kind <- kind.toRight(ApiError.MissingField("exec.kind"))
      config <- fields.fields("config")
      _ <- config.only(OptionsReader.Names*)
      own <- options.read(config, limits)
      parameters <- fields.objectAt("parameters")
      code <- exec.requiredString("code")
      bytes <- decode(code, limits)
    yield Deployment(kind, bytes, own, parameters)

  private def decode(code: String, limits: NamespaceLimits): Either[ApiError, Array[Byte]] =
    // Told by the length of the text, before a buffer for its content is made.
    val size = code.length.toLong * 3 / 4 - code.reverseIterator.take(2).count(_ == '=')
    if size > limits.packageBytes then Left(ApiError.PackageTooLarge(size, limits.packageBytes))
    else
      try Right(Base64.getDecoder.decode(code))
      catch case _: IllegalArgumentException => Left(ApiError.WrongType("exec.code", "base64"))

object DeployBody:
  /** Kinds of work functions the runtime can start. */
  val Kinds: Seq[(String, String)] = Seq("rust" -> "rust")
