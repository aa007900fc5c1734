package burst.controller.http

import burst.controller.definition.{FlareOptions, Kind, KindFamily}
import burst.controller.json.JsonPieces
import burst.controller.json.JsonPieces.Problem
import burst.controller.limits.NamespaceLimits
import burst.protocol.JsonText
import io.circe.JsonObject
import org.apache.pekko.util.ByteString

/** The content of a deploy: the program and the definition around it. Without parameters it keeps the stored
  * ones.
  */
final case class Deployment(
    kind: String,
    family: KindFamily,
    code: Code,
    main: Option[String],
    options: FlareOptions,
    parameters: Option[JsonObject],
    variables: DeployedVariables
)

/** Reads the body of a deploy. Pure. */
final class DeployBody(options: OptionsReader, pieces: JsonPieces):
  import DeployBody.*

  private val codes = CodeReader(pieces)

  def read(body: ByteString, limits: NamespaceLimits): Either[ApiError, Deployment] =
    for
      split <- SplitBody.ofDeploy(body, pieces)
      fields = Fields.of(split.fields)
      _ <- fields.only("exec", "config", "parameters", "environment", "secrets")
      exec <- fields.requiredFields("exec")
      named <- exec.string("kind")
      named <- named.toRight(ApiError.MissingField("exec.kind"))
      program <- Programs.of(named).toRight(ApiError.NoSuchChoice("exec.kind", Programs.names))
      (kind, family) = program
      _ <- exec.only(Vector("kind", "code") ++ Option.when(hasFunctions(family))("main")*)
      main <- exec.string("main")
      _ <- Either.cond(
        main.forall(_.lengthIs <= ActionBody.MostName),
        (),
        ApiError.WrongType("exec.main", ActionBody.AName)
      )
      config <- fields.fields("config")
      _ <- config.only(FlareOptions.Names*)
      own <- options.read(config, limits)
      parameters <- fields.objectAt("parameters")
      variables <- DeployedVariables.read(fields)
      code <- split.large.toRight(ApiError.MissingField("exec.code"))
      read <-
        if family == KindFamily.Rust then decode(code, limits).map(Code(_, binary = true))
        else codes.read(code, limits.packageBytes)
    yield Deployment(kind, family, read, main.filter(_.nonEmpty), own, parameters, variables)

  private def decode(code: JsonText, limits: NamespaceLimits): Either[ApiError, Array[Byte]] =
    // Decided by the length of the text, before an array is allocated for its content.
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
  /** Whether programs of this family are source files, whose functions have names. */
  private def hasFunctions(family: KindFamily): Boolean =
    family == KindFamily.Python || family == KindFamily.Nodejs

  /** The kinds that are programs: neither sequences nor images. */
  private object Programs:
    val names: Vector[String] = KindFamily.Rust.name +: Kind.Names.filter(of(_).isDefined).toVector

    def of(name: String): Option[(String, KindFamily)] =
      for
        kind <- Kind.resolve(name)
        family <- Kind.familyOf(kind) if family.versions.nonEmpty
      yield (kind, family)
