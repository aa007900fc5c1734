package burst.controller.http

import burst.controller.definition.FlareOptions
import burst.controller.json.JsonPieces
import burst.controller.json.JsonPieces.Problem
import burst.controller.limits.NamespaceLimits
import burst.protocol.JsonText
import io.circe.JsonObject
import org.apache.pekko.util.ByteString

/** What a deploy brings: the package's bytes and the definition around it. Without parameters it leaves those
  * that are there.
  */
final case class Deployment(
    kind: String,
    code: Array[Byte],
    options: FlareOptions,
    parameters: Option[JsonObject],
    variables: DeployedVariables
)

/** Reads the body of a deploy. Pure. */
final class DeployBody(options: OptionsReader, pieces: JsonPieces):
  def read(body: ByteString, limits: NamespaceLimits): Either[ApiError, Deployment] =
    for
      split <- SplitBody.ofDeploy(body, pieces)
      fields = Fields.of(split.fields)
      _ <- fields.only("exec", "config", "parameters", "environment", "secrets")
      exec <- fields.requiredFields("exec")
      _ <- exec.only("kind", "code")
      kind <- exec.choice("kind", DeployBody.Kinds)
      kind <- kind.toRight(ApiError.MissingField("exec.kind"))
      config <- fields.fields("config")
      _ <- config.only(FlareOptions.Names*)
      own <- options.read(config, limits)
      parameters <- fields.objectAt("parameters")
      variables <- DeployedVariables.read(fields)
      code <- split.large.toRight(ApiError.MissingField("exec.code"))
      bytes <- decode(code, limits)
    yield Deployment(kind, bytes, own, parameters, variables)

  private def decode(code: JsonText, limits: NamespaceLimits): Either[ApiError, Array[Byte]] =
    // Told by the length of the text, before there is an array for its content.
    val text = code.bytes.drop(1).dropRight(1)
    val size = text.length.toLong * 3 / 4 - text.takeRight(2).count(_ == '=')
    val tooLarge = ApiError.PackageTooLarge(size, limits.packageBytes)
    if size > limits.packageBytes && JsonPieces.first(code) == '"' then Left(tooLarge)
    else
      pieces
        .binary(code, limits.packageBytes.min(Int.MaxValue).toInt)
        .left
        .map:
          case Problem.OtherType => ApiError.WrongType("exec.code", "a string")
          case Problem.TooMany => tooLarge
          case _ => ApiError.WrongType("exec.code", "base64")

object DeployBody:
  /** Kinds of work functions the runtime can start. */
  val Kinds: Seq[(String, String)] = Seq("rust" -> "rust")
