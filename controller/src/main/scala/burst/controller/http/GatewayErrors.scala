package burst.controller.http

import burst.controller.gateway.{ApiDocument, GatewayProblem}
import org.apache.pekko.http.scaladsl.model.StatusCode
import org.apache.pekko.http.scaladsl.model.StatusCodes.*

/** The error messages for callers that manage APIs. */
private[http] object GatewayErrors:
  def describe(problem: GatewayProblem): (StatusCode, String) = problem match
    case GatewayProblem.MissingField(path) => BadRequest -> s"The field '${short(path)}' is missing; add it."
    case GatewayProblem.WrongType("", expected) => BadRequest -> s"The body must be $expected."
    case GatewayProblem.WrongType(path, expected) =>
      BadRequest -> s"The field '${short(path)}' must be $expected."
    case GatewayProblem.NotADocument(path) =>
      BadRequest -> s"The field '$path' is a string, but not of valid JSON."
    case GatewayProblem.TwoKinds =>
      BadRequest -> "The fields 'swagger' and 'gatewayBasePath' exclude each other; leave one of them out."
    case GatewayProblem.BadBasePath(path) =>
      BadRequest -> s"'${short(path)}' is no base path: it begins with a slash, ends with none, and has no parameters."
    case GatewayProblem.BadPath(path) =>
      BadRequest -> s"""'${short(
          path
        )}' is no path: it begins with a slash, and its parameters are whole segments such as
        | {name}, each with a name of its own.""".stripMargin.replace("\n", "")
    case GatewayProblem.BadVerb(verb) =>
      BadRequest -> s"'${short(verb)}' is none of the verbs ${ApiDocument.Verbs.toSeq.sorted.mkString(", ")}."
    case GatewayProblem.BadAction(path) => BadRequest -> s"The field '${short(path)}' names no action."
    case GatewayProblem.BadTitle =>
      BadRequest -> "An API's name has 1 to 256 characters, none of them a control character."
    case GatewayProblem.NotSwagger =>
      BadRequest -> "The document is not swagger 2.0; its field 'swagger' must be \"2.0\"."
    case GatewayProblem.NoPaths =>
      BadRequest -> "The document has no paths, or one without an operation; add one."
    case GatewayProblem.TooManyPaths(limit) =>
      BadRequest -> s"An API may have $limit paths; make another one."
    case GatewayProblem.SecurityNotSupported =>
      BadRequest -> "This gateway checks no keys or tokens; remove 'security', and let the action ask by 'require-whisk-auth'."
    case GatewayProblem.TooLarge(limit) => ContentTooLarge -> s"An API's document may have $limit characters."
    case GatewayProblem.TooMany(limit) =>
      ContentTooLarge -> s"This namespace may have at most $limit APIs, and has as many; remove one."
    case GatewayProblem.TooLargeTogether(limit) =>
      ContentTooLarge -> s"The documents of a namespace's APIs may have $limit characters together; remove one."
    case GatewayProblem.NoSuchApi(name) => NotFound -> s"There is no API '${short(name)}'."
    case GatewayProblem.NoSuchPath(path) => NotFound -> s"The API has no path '${short(path)}'."
    case GatewayProblem.NoSuchOperation(path, verb) =>
      NotFound -> s"The API's path '${short(path)}' has no operation '$verb'."
    case GatewayProblem.PathMissing => BadRequest -> "An operation is one of a path; say which, as 'relpath'."

  private def short(text: String): String = Fields.shortened(text.filterNot(_.isControl))
