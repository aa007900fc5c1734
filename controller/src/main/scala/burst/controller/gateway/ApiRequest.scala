package burst.controller.gateway

import burst.controller.action.ActionName
import burst.controller.web.WebExtension
import io.circe.{Json, JsonObject}

/** A client's request to create or change an API. */
enum ApiRequest:
  case Whole(document: ApiDocument)

  /** One operation of an API, which is identified by its base path or, if it exists, by its title. */
  case Operation(
      api: String,
      title: Option[String],
      path: ApiPath,
      template: String,
      verb: String,
      backend: Backend
  )

object ApiRequest:
  import GatewayProblem.*

  /** Reads a request as wsk and npm's openwhisk send it; `parse` reads documents that are sent as text. */
  def read(
      body: Json,
      caller: String,
      extension: WebExtension,
      parse: String => Option[Json]
  ): Either[GatewayProblem, ApiRequest] =
    for
      fields <- body.asObject.toRight(WrongType("", "an object"))
      sent <- fields("apidoc").filterNot(_.isNull).toRight(MissingField("apidoc"))
      json <- opened(sent, "apidoc", parse)
      doc <- json.asObject.toRight(WrongType("apidoc", "an object"))
      request <- doc("swagger").filterNot(_.isNull) match
        case Some(_) if doc("gatewayBasePath").exists(!_.isNull) => Left(TwoKinds)
        case Some(swagger) =>
          opened(swagger, "apidoc.swagger", parse).flatMap(ApiDocument.read(_, caller)).map(Whole(_))
        case None => operation(doc, caller, extension)
    yield request

  private def operation(
      doc: JsonObject,
      caller: String,
      extension: WebExtension
  ): Either[GatewayProblem, ApiRequest] =
    for
      api <- text(doc, "gatewayBasePath", "apidoc.")
      template <- text(doc, "gatewayPath", "apidoc.")
      method <- text(doc, "gatewayMethod", "apidoc.")
      path <- ApiPath.parse(template).toRight(BadPath(template))
      verb <- ApiDocument.verb(method)
      action <- doc("action").flatMap(_.asObject).toRight(MissingField("apidoc.action"))
      name <- text(action, "name", "apidoc.action.")
      namespace = action("namespace").flatMap(_.asString).getOrElse(ActionName.Own)
      // The namespace that the client considers its own is the one its credentials open.
      owner = if doc("namespace").flatMap(_.asString).contains(namespace) then ActionName.Own else namespace
      called <- qualified(owner, name, caller).toRight(BadAction("apidoc.action"))
    yield Operation(
      api,
      doc("apiName").flatMap(_.asString).filter(_.nonEmpty),
      path,
      template,
      verb,
      Backend(called, extension, Backend.secret(action))
    )

  /** Reads `[package/]name`, or a qualified name, which repeats the namespace. */
  private def qualified(namespace: String, name: String, caller: String): Option[ActionName] =
    if name.startsWith("/") then ActionName.parse(name, caller)
    else
      name.split("/", -1) match
        case Array(action) => Backend.named(namespace, None, action, caller)
        case Array(inPackage, action) =>
          Backend.named(namespace, Option(inPackage).filter(_ != Backend.NoPackage), action, caller)
        case _ => None

  private def opened(json: Json, path: String, parse: String => Option[Json]): Either[GatewayProblem, Json] =
    json.asString.fold(Right(json))(text => parse(text).toRight(NotADocument(path)))

  private def text(fields: JsonObject, name: String, path: String): Either[GatewayProblem, String] =
    fields(name).filterNot(_.isNull) match
      case None => Left(MissingField(path + name))
      case Some(value) => value.asString.filter(_.nonEmpty).toRight(WrongType(path + name, "a string"))
