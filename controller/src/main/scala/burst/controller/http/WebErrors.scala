package burst.controller.http

import burst.controller.web.{WebExtension, WebProblem}
import org.apache.pekko.http.scaladsl.model.StatusCode
import org.apache.pekko.http.scaladsl.model.StatusCodes.*

/** The error messages for callers of web actions. */
private[http] object WebErrors:
  def describe(problem: WebProblem): (StatusCode, String) = problem match
    case WebProblem.NoSuchAction =>
      NotFound -> "There is no such web action; its path is /api/v1/web/NAMESPACE/PACKAGE/ACTION, with 'default' for no package."
    case WebProblem.NeedsCredentials =>
      Unauthorized -> "This web action asks for credentials; send 'uuid:key' by Basic authentication."
    case WebProblem.NeedsSecret =>
      Unauthorized -> "This web action asks for a secret; send it in one header 'X-Require-Whisk-Auth'."
    case WebProblem.ParameterNotAllowed(name) =>
      BadRequest -> s"The parameter '${Fields.shortened(name)}' may not be given to this action; leave it out."
    case WebProblem.MalformedQuery => BadRequest -> "The query is not well encoded; correct it."
    case WebProblem.MalformedForm => BadRequest -> "The form in the body is not well encoded; correct it."
    case WebProblem.TooManyFields(limit) =>
      BadRequest -> s"A query or form may have $limit fields; send more as JSON."
    case WebProblem.NotAcceptable(mediaType) =>
      NotAcceptable -> s"The response is of type $mediaType, which the header 'Accept' does not allow."
    case WebProblem.NotOfExtension(extension) =>
      BadRequest -> s"The action's result is ${missing(extension)}."
    case WebProblem.NoText => NotFound -> "The action's result has no such field."
    case WebProblem.BadStatus =>
      BadRequest -> "The action's result has a 'statusCode' that is no number from 200 to 599."
    case WebProblem.BadHeader =>
      BadRequest -> "The action's result has a header that HTTP does not allow: a name, or a value that is no line of ASCII."
    case WebProblem.HeadersTooLarge(limit) =>
      BadRequest -> s"The action's result has headers of more than $limit characters."
    case WebProblem.BadContentType => BadRequest -> "The action's result has a content type that is none."
    case WebProblem.NotOfContentType =>
      BadRequest -> "The action's result has a body that is not of its content type: send a string, or JSON as application/json."
    case WebProblem.NotBase64 =>
      BadRequest -> "The action's result has a body of a binary type that is not in base64."
    case WebProblem.ActionFailed =>
      BadRequest -> "The action failed; its owner finds the reason in its activation."
    case WebProblem.NotReady => Accepted -> "The action goes on running; its response is not ready yet."

  private def missing(extension: WebExtension): String = extension match
    case WebExtension.Http => "no object with 'statusCode', 'headers' or 'body', as .http needs"
    case WebExtension.Json => "neither an object nor an array, as .json needs"
    case other => s"no string, and has none as 'body' or '${other.suffix.drop(1)}', as ${other.suffix} needs"
