package burst.controller.http

import burst.controller.gateway.Tenant
import com.atlassian.oai.validator.OpenApiInteractionValidator
import com.atlassian.oai.validator.model.{Request, SimpleRequest, SimpleResponse}
import io.swagger.v3.parser.OpenAPIV3Parser
import scala.io.Source
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** openapi.yaml, against which requests and replies are checked. */
object ApiDescription:
  val text: String =
    Using.resource(getClass.getResourceAsStream("/openapi.yaml"))(in =>
      Source.fromInputStream(in, "UTF-8").mkString
    )

  private val parsed =
    val result = OpenAPIV3Parser().readContents(text)
    assert(result.getMessages.isEmpty, result.getMessages.asScala.mkString("\n"))
    result.getOpenAPI

  /** Every documented operation as method and path template. */
  val operations: Set[(String, String)] =
    (for
      (path, item) <- parsed.getPaths.asScala.toSeq
      method <- item.readOperationsMap.asScala.keys.toSeq
    yield method.toString -> path).toSet

  private val validator = OpenApiInteractionValidator.createForInlineApiSpecification(text).build()

  /** The template of the operation that a path is an instance of; `{rest}` matches all that follows. */
  def template(method: String, path: String): Option[String] =
    val parts = path.takeWhile(_ != '?').stripSuffix("/").split("/", -1)
    operations
      .collect { case (`method`, candidate) => candidate }
      .filter: candidate =>
        val wanted = candidate.stripSuffix("/").split("/", -1)
        (wanted.length == parts.length || wanted.last == Rest && wanted.length < parts.length) &&
        wanted.zip(parts).forall:
          case ("{tenant}", part) => Tenant.isTenant(part)
          case (name, part) => name == part || (name.startsWith("{") && part.nonEmpty)
      .minByOption(_.count(_ == '{'))

  /** An instance of the template in the caller's namespace. */
  def concrete(template: String): String =
    template
      .replace("{namespace}", "_")
      .replace("{activationId}", "0" * 32)
      .replace("{flareId}", "0" * 32)
      .replace("{invokerId}", "invoker0")
      .replace("{groupId}", "0" * 32)
      .replace("{tenant}", "0" * 32)
      .replace("{version}", "0.0.1")
      .replaceAll("\\{(name|package|owner|action|rest)\\}", "x")

  private val Rest = "{rest}"
  private val StrangersCall = raw"\{(owner|tenant)}".r

  /** Returns a path without its query, with as many segments as its template. */
  private def instance(path: String, template: String): String =
    val parts = path.takeWhile(_ != '?').split("/", -1)
    val most = template.split("/", -1).length
    if !template.endsWith(Rest) then path.takeWhile(_ != '?')
    else (parts.take(most - 1) :+ parts.drop(most - 1).mkString("%2F")).mkString("/")

  /** Returns how a reply violates the description. Calls that it does not describe must be refused. */
  def faults(
      method: String,
      path: String,
      status: Int,
      contentType: String,
      body: String,
      headers: Map[String, String]
  ): Seq[String] =
    template(method, path) match
      case None =>
        if Set(400, 401, 403, 404, 405).contains(status) then Seq.empty
        else Seq(s"undocumented: $method $path $status")
      // A web action itself decides whether there is a body.
      case Some(template) if body.isEmpty && StrangersCall.findFirstIn(template).isDefined => Seq.empty
      case Some(template) =>
        val response = SimpleResponse.Builder(status)
        // A few replies have no body.
        if contentType.nonEmpty then response.withBody(body).withContentType(contentType)
        headers.foreach((name, value) => response.withHeader(name, value))
        validator
          .validateResponse(instance(path, template), Request.Method.valueOf(method), response.build())
          .getMessages
          .asScala
          .map(m => s"$method $template $status: $m")
          .toSeq

  /** Returns how a request that was accepted violates the description. */
  def requestFaults(method: String, path: String, body: Option[String]): Seq[String] =
    val concrete = template(method, path).fold(path)(instance(path, _))
    val builder = SimpleRequest.Builder(method, concrete).withAuthorization("Basic eDp5")
    path
      .dropWhile(_ != '?')
      .drop(1)
      .split('&')
      .filter(_.nonEmpty)
      .map(_.split("=", 2))
      .foreach(pair => builder.withQueryParam(pair(0), pair.lift(1).getOrElse("")))
    body.foreach(text => builder.withBody(text).withContentType("application/json"))
    validator.validateRequest(builder.build()).getMessages.asScala.map(m => s"$method $path: $m").toSeq
