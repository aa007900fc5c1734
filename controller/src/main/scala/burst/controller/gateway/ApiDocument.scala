package burst.controller.gateway

import io.circe.{Json, JsonObject}
import java.util.Locale

/** An API as a swagger document in which every operation has a web action behind it. */
final case class ApiDocument private (json: JsonObject, basePath: String, title: String):
  import ApiDocument.*

  def text: String = Json.fromJsonObject(json).noSpaces

  def paths: JsonObject = json("paths").flatMap(_.asObject).getOrElse(JsonObject.empty)

  def isEmpty: Boolean = paths.isEmpty

  /** Returns the document with an operation added or replaced. */
  def adding(path: ApiPath, template: String, verb: String, backend: Backend, site: String): ApiDocument =
    val before = paths(template).flatMap(_.asObject).getOrElse(JsonObject.empty)
    val operation = Json.obj(
      "operationId" -> Json.fromString(s"${verb}_$template"),
      Backend.Field -> backend.extensionField(site),
      "responses" -> Json.obj("default" -> Json.obj("description" -> Json.fromString("Default response")))
    )
    val item = before.add(verb, operation)
    val parameters = Json.fromValues(path.parameters.map(parameter))
    withPaths(paths.add(
      template,
      Json.fromJsonObject(if path.parameters.isEmpty then item else item.add("parameters", parameters))
    ))

  /** Returns the document without a path, or without one operation of it, and then without the path if that
    * was the last one.
    */
  def removing(template: String, verb: Option[String]): Either[GatewayProblem, ApiDocument] =
    for
      item <- paths(template).flatMap(_.asObject).toRight(GatewayProblem.NoSuchPath(template))
      left <- verb match
        case None => Right(JsonObject.empty)
        case Some(one) if item(one).isEmpty => Left(GatewayProblem.NoSuchOperation(template, one))
        case Some(one) => Right(item.remove(one))
    yield withPaths(
      if left.keys.exists(Verbs) then paths.add(template, Json.fromJsonObject(left))
      else paths.remove(template)
    )

  /** Returns the part of the document that is asked for. */
  def only(template: Option[String], verb: Option[String]): JsonObject =
    val items = paths.toIterable.collect:
      case (name, item) if template.forall(_ == name) =>
        name -> verb.fold(item)(one => item.mapObject(_.filterKeys(key => key == one || !Verbs(key))))
    json.add("paths", Json.fromFields(items.filter((_, item) => item.asObject.exists(_.keys.exists(Verbs)))))

  private def withPaths(paths: JsonObject) = copy(json = json.add("paths", Json.fromJsonObject(paths)))

object ApiDocument:
  val Verbs: Set[String] = Set("get", "put", "post", "delete", "patch", "head", "options")
  val MostPaths = 500
  val MostCharacters: Int = 128 * 1024
  private val LongestTitle = 256

  def verb(text: String): Either[GatewayProblem, String] =
    val lower = text.toLowerCase(Locale.ROOT)
    Either.cond(Verbs(lower), lower, GatewayProblem.BadVerb(text))

  /** Returns a document without paths. */
  def empty(basePath: String, title: Option[String]): Either[GatewayProblem, ApiDocument] =
    val called = title.getOrElse(basePath)
    if !ApiPath.isBase(basePath) then Left(GatewayProblem.BadBasePath(basePath))
    else if !isTitle(called) then Left(GatewayProblem.BadTitle)
    else
      val json = JsonObject(
        "swagger" -> Json.fromString("2.0"),
        "basePath" -> Json.fromString(basePath),
        "info" -> Json.obj("title" -> Json.fromString(called), "version" -> Json.fromString("1.0.0")),
        "paths" -> Json.obj()
      )
      Right(ApiDocument(json, basePath, called))

  /** Reads and checks a user's own document; `_` in it stands for the namespace `caller`. */
  def read(json: Json, caller: String): Either[GatewayProblem, ApiDocument] =
    import GatewayProblem.*
    for
      fields <- json.asObject.toRight(WrongType("apidoc.swagger", "an object"))
      _ <- Either.cond(fields("swagger").flatMap(_.asString).contains("2.0"), (), NotSwagger)
      basePath <- fields("basePath").flatMap(_.asString).toRight(MissingField("apidoc.swagger.basePath"))
      _ <- Either.cond(ApiPath.isBase(basePath), (), BadBasePath(basePath))
      info <- fields("info").flatMap(_.asObject).toRight(MissingField("apidoc.swagger.info"))
      title = info("title").flatMap(_.asString).getOrElse(basePath)
      _ <- Either.cond(isTitle(title), (), BadTitle)
      _ <- Either.cond(
        Seq("security", "securityDefinitions").forall(isEmpty(fields, _)),
        (),
        SecurityNotSupported
      )
      paths <- fields("paths").flatMap(_.asObject).toRight(MissingField("apidoc.swagger.paths"))
      _ <- Either.cond(!paths.isEmpty, (), NoPaths)
      checked <- each(paths.toVector)(path(_, _, caller))
      whole = fields
        .add("info", Json.fromJsonObject(info.add("title", Json.fromString(title))))
        .add("paths", Json.fromFields(checked))
      document <- bounded(ApiDocument(whole, basePath, title))
    yield document

  /** Returns a document that was checked when it was stored. */
  def stored(json: JsonObject, basePath: String, title: String): ApiDocument =
    ApiDocument(json, basePath, title)

  def bounded(document: ApiDocument): Either[GatewayProblem, ApiDocument] =
    if document.paths.size > MostPaths then Left(GatewayProblem.TooManyPaths(MostPaths))
    else if document.text.length > MostCharacters then Left(GatewayProblem.TooLarge(MostCharacters))
    else Right(document)

  private def path(template: String, item: Json, caller: String): Either[GatewayProblem, (String, Json)] =
    for
      _ <- ApiPath.parse(template).toRight(GatewayProblem.BadPath(template))
      fields <- item.asObject.toRight(GatewayProblem.WrongType(s"paths.$template", "an object"))
      _ <- Either.cond(fields.keys.exists(Verbs), (), GatewayProblem.NoPaths)
      checked <- each(fields.toVector):
        case (verb, operation) if Verbs(verb) =>
          this.operation(operation, s"paths.$template.$verb", caller).map(verb -> _)
        case other => Right(other)
    yield template -> Json.fromFields(checked)

  /** Checks an operation, and adds the namespace of its action, so that it means the same to every reader. */
  private def operation(json: Json, at: String, caller: String): Either[GatewayProblem, Json] =
    for
      fields <- json.asObject.toRight(GatewayProblem.WrongType(at, "an object"))
      _ <- Either.cond(isEmpty(fields, "security"), (), GatewayProblem.SecurityNotSupported)
      field <- fields(Backend.Field).toRight(GatewayProblem.MissingField(s"$at.${Backend.Field}"))
      backend <- Backend.read(field, caller).toRight(GatewayProblem.BadAction(s"$at.${Backend.Field}"))
      named = field.mapObject(_.add("namespace", Json.fromString(backend.action.namespace)))
    yield Json.fromJsonObject(fields.add(Backend.Field, named))

  private def isEmpty(fields: JsonObject, name: String): Boolean =
    fields(name).forall(value =>
      value.isNull || value.asArray.exists(_.isEmpty) || value.asObject.exists(_.isEmpty)
    )

  private def isTitle(text: String): Boolean =
    text.nonEmpty && text.lengthIs <= LongestTitle && !text.exists(_.isControl)

  private def parameter(name: String): Json = Json.obj(
    "name" -> Json.fromString(name),
    "in" -> Json.fromString("path"),
    "required" -> Json.True,
    "type" -> Json.fromString("string"),
    "description" -> Json.fromString(s"Default description for '$name'")
  )

  private def each[A, B](all: Vector[(String, A)])(read: (String, A) => Either[GatewayProblem, B]) =
    val done = all.map((name, value) => read(name, value))
    done.collectFirst { case Left(problem) => problem }.toLeft(done.collect { case Right(value) => value })
